"""The compiled policies are those of the seeds that are kept, the selectors those of the list."""

from __future__ import annotations

import pytest

from tests.hostile import selectors
from tests.hostile.policies import COMPILED, ERRING_SEEDS, SEEDS, WIDE_SEEDS, compiled, policies


@pytest.mark.slow
def test_the_compiled_policies_are_up_to_date() -> None:
    accepted = policies(SEEDS, WIDE_SEEDS, ERRING_SEEDS)
    assert len(accepted) == len(SEEDS) + len(WIDE_SEEDS) + len(ERRING_SEEDS), (
        "a policy that was found no longer compiles: take its seed out"
    )
    assert COMPILED.read_text() == compiled(accepted), "run `python -m tests.hostile`"


def test_the_compiled_selectors_are_up_to_date() -> None:
    assert selectors.COMPILED.read_text() == selectors.compiled(), "run `python -m tests.hostile`"
