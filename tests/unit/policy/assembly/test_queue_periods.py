"""Periods of the queue that policies write."""

from __future__ import annotations

import pytest

from kpolicy.policy.assembly.queue_periods import NOTHING_WRITTEN, WrittenPeriods
from kpolicy.policy.compile import Compiled, compile_policy
from kpolicy.policy.yaml.source import Source


def compiled(**queues: str) -> Compiled:
    """Of policies by name, each with what it says of the queue; the later ones stand on `base`."""
    sources = []
    for name, queue in queues.items():
        more = "" if name in ("base", "other") else "\n  base: base"
        profile = "" if name == "base" else "\n  profiles: [{schedulerName: kpolicy}]"
        text = (
            "apiVersion: kpolicy.dev/v1alpha1\nkind: SchedulingPolicy\n"
            f"metadata: {{name: {name}}}\nspec:\n  queue: {queue}{profile}{more}\n"
        )
        sources.append(Source(f"{name}.yaml", text))
    return compile_policy(sources)


def periods(**queues: str) -> WrittenPeriods:
    found = compiled(**queues)
    assert found.program is not None, found.diagnostics
    return found.program.periods


def test_what_is_written_is_in_the_program_and_in_its_hash() -> None:
    nothing = compiled(other="{}").program
    written = compiled(other="{podMaxBackoff: 20, flushPeriod: 0.5}").program
    assert nothing is not None
    assert written is not None
    assert nothing.periods == NOTHING_WRITTEN
    assert written.periods == WrittenPeriods(pod_max_backoff=20.0, flush_period=0.5)
    assert nothing.hash != written.hash
    assert nothing.scheduler_names == written.scheduler_names


def test_of_a_policy_and_its_base_the_nearest_counts() -> None:
    of_base = "{podInitialBackoff: 2, flushAfter: 60}"
    found = periods(base=of_base, mine="{podInitialBackoff: 3}")
    assert found == WrittenPeriods(pod_initial_backoff=3.0, flush_after=60.0)


def test_two_policies_must_not_differ() -> None:
    found = compiled(other="{flushAfter: 60}", base="{}", mine="{flushAfter: 61}")
    assert found.program is None
    assert [finding.code for finding in found.diagnostics] == ["KP116"]


@pytest.mark.parametrize(
    "queue", ["{podInitialBackoff: 0}", "{podInitialBackoff: 20, podMaxBackoff: 10}"]
)
def test_a_period_is_in_bounds(queue: str) -> None:
    found = compiled(other=queue)
    assert found.program is None
    assert [finding.code for finding in found.diagnostics] == ["KP113"]
