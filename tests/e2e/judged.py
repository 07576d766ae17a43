"""A run under the eyes of the invariants' checker: what was recorded while a stage played.

Owns what a run on a real control plane is judged by, and what it must have given to be judged (an
invariant that had nothing to look at fails the run). Not among them: I9, which compares two runs of
the same seed and is the simulation's.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from tests.cluster.client import wait_for
from tests.cluster.control_plane import ControlPlane
from tests.cluster.users import NORMAL
from tests.e2e.at_rest import at_rest
from tests.e2e.policy_hash import policy_hash
from tests.e2e.scheduler_process import SchedulerProcess
from tests.e2e.stage import WITHIN_S
from tests.invariants.check import violations
from tests.invariants.history import History, Terms, Violation
from tests.invariants.inputs import inputs, told, without_input
from tests.invariants.recording import Recording

LEADER, STARVATION, POLICY = "I8", "I5", "I11"
ALWAYS: Final = frozenset({"I1", "I2", "I3", "I4", "I6", "I7", "I10", POLICY, "I12", "I13"})

REST_S, REST_FULL_S = 1.5, 60.0
# A queue that forgets a pod finds it again after minutes; a busy machine takes seconds.
WAIT_S_MAX: Final = 30.0
# How old what is decided on may be where a test breaks connections or the API server; where it
# silences watches, which is found out after 75 s.
BROKEN_LAG_S, SILENT_LAG_S = 15.0, 90.0


@dataclass(frozen=True, slots=True)
class Judged:
    """How a run is judged. `lag_s`: something is broken on purpose, and snapshots may be as old.
    `trouble_free`: nothing is. `unjudged`: profiles with rules that the reference does not know."""

    profiles: frozenset[str]
    lag_s: float = 0.0
    trouble_free: bool = False
    rest_s: float = REST_S
    evicts: bool = False
    binds_volumes: bool = False
    kept_in: str = ""
    unjudged: frozenset[str] = frozenset()

    @property
    def terms(self) -> Terms:
        return Terms(
            lag_s=self.lag_s, wait_s_max=WAIT_S_MAX, converge_s=0.0, rest_s=self.rest_s,
            retells=False, unjudged=self.unjudged, evicts=self.evicts,
            binds_volumes=self.binds_volumes, kept_in=self.kept_in,
        )  # fmt: skip


def recording(plane: ControlPlane, how: Judged) -> Recording:
    return Recording(
        plane, users=(NORMAL,), profiles=sorted(how.profiles), terms=how.terms,
        trouble_free=how.trouble_free,
    )  # fmt: skip


def offered_from_the_start(recorded: Recording, scheduler: SchedulerProcess) -> None:
    """The policy that it was started with."""
    assert scheduler.policy is not None
    recorded.offer(policy_hash(scheduler.policy.read_text()), was_there=True)


def judge(scheduler: SchedulerProcess, recorded: Recording) -> History:
    """No invariant is broken at the end, and each that should have had something to look at had it.

    What was once unsafe stays so; only what waits (I4) and moves (I13) may take a moment until all
    is at rest."""
    terms = recorded.terms
    found: list[Violation] = []
    histories: list[History] = []

    def held() -> bool:
        recorded.calm()
        began = time.monotonic()
        rest = at_rest(scheduler)
        time.sleep(max(0.0, began + terms.rest_s - time.monotonic()))
        history = recorded.history(at_rest=rest)
        histories[:] = [history]
        found[:] = judged_by(violations(history), leads=scheduler.elects)
        return not found

    try:
        wait_for(held, "the invariants to hold", timeout_s=WITHIN_S + 2 * terms.rest_s, every_s=0.3)
    finally:
        for one in found:
            print(one)
    (history,) = histories
    print(f"invariants looked at {told(inputs(history))}")
    blind = without_input(history, expected(history, leads=scheduler.elects))
    assert not blind, f"they had nothing to look at: {blind}"
    return history


def judged_by(found: Sequence[Violation], *, leads: bool) -> list[Violation]:
    """Without leader election everybody leads, whoever else holds a lease."""
    return [one for one in found if leads or one.invariant != LEADER]


def expected(history: History, *, leads: bool) -> Iterable[str]:
    names = ALWAYS | ({LEADER} if leads else set())
    names |= {STARVATION} if history.trouble_free else set()
    return sorted(names)
