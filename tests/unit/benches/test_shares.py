"""Tenants get what is fair under the policy fair-share, over a simulated day."""

from __future__ import annotations

import pytest

from benches.shares.command import run
from benches.shares.week import Setting

ERROR_MAX = 0.01


@pytest.mark.slow
def test_shares_of_a_day_are_fair_to_a_hundredth() -> None:
    shares = run(Setting(days=1))
    assert shares.placed > 20_000
    assert shares.error < ERROR_MAX
    # All three tenants had something, and more than one of them at a time.
    assert min(shares.line()["had"].values()) > 0.05
