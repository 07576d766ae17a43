"""Finds the smallest number of acts with which a failing seed still fails. The nemesis does the
same acts in the same order, and stops earlier.
"""

from __future__ import annotations

from dataclasses import replace

from tests.simulation.sweep import simulated
from tests.simulation.world import Plan

ACTS_MAX = 64


def fewest_acts(plan: Plan) -> int:
    """Halving between an amount that fails and one that does not; fewer acts can also fail where
    more do not, so that this is a small number and not the least."""
    enough, too_few = ACTS_MAX, -1
    while enough - too_few > 1:
        middle = (enough + too_few) // 2
        if simulated(replace(plan, acts=middle)).violations:
            enough = middle
        else:
            too_few = middle
    return enough
