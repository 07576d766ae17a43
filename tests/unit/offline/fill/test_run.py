"""A run fills a small cluster: the same for the same seed, and never more than there is."""

from __future__ import annotations

import json
import pickle
from pathlib import Path

import pytest

from kpolicy.offline.fill import Recipe, Trace, TraceNode, TracePod, run_fill
from kpolicy.offline.fill.openb import read_openb
from kpolicy.offline.fill.run import with_typical_pods
from kpolicy.offline.fill.synthetic import write_synthetic
from kpolicy.offline.fill.typical_pods import typical_pods
from kpolicy.policy.compile import compile_policy, shipped_source


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Trace:
    folder: Path = tmp_path_factory.mktemp("trace")
    write_synthetic(folder)
    read = read_openb(folder)
    assert isinstance(read, Trace)
    return read


def program_of(policy: str) -> bytes:
    program = compile_policy([shipped_source(policy)]).program
    assert program is not None
    return program.bytes


@pytest.mark.parametrize("policy", ["gpus-best-fit", "gpus-least-fragmentation"])
def test_the_same_seed_fills_the_same_way(policy: str, trace: Trace) -> None:
    first, again, other = (run_fill(trace, program_of(policy), seed) for seed in (1, 1, 2))
    assert first == again == pickle.loads(pickle.dumps(first))
    assert first.allocated != other.allocated
    assert len(first.allocated) == len(first.fragments) == 131
    assert first.allocated[0] == 0.0
    assert list(first.allocated) == sorted(first.allocated)
    assert 80 < first.allocated[130] <= 100
    assert first.placed < first.arrived


def test_at_first_what_arrives_is_allocated(trace: Trace) -> None:
    filled = run_fill(trace, program_of("gpus-best-fit"), 1)
    # A point is that of the pod with which demand reached the percent: of some GPUs at most.
    largest = 100 * max(pod.demand_milli for pod in trace.pods) / trace.capacity_milli
    assert all(
        percent <= filled.allocated[percent] <= percent + largest for percent in range(1, 40)
    )


def test_devices_are_never_given_twice() -> None:
    """Two shares of 600 need a GPU each: counted in sums, three would fit."""
    share = TracePod(1_000, 1, 1, 600)
    trace = Trace("t", (TraceNode("n", 96_000, 10_000, 2),), (share,) * 4)
    filled = run_fill(trace, program_of("gpus-best-fit"), 1, Recipe(demand_percent=100))
    assert filled.placed == 2
    assert filled.allocated[-1] == pytest.approx(60.0)


def test_typical_pods_are_those_of_the_trace_unless_the_policy_names_some(trace: Trace) -> None:
    typical = typical_pods(trace.pods)
    document = json.loads(program_of("gpus-least-fragmentation"))
    document["profiles"][0]["scores"][0]["args"]["typicalPods"] = [{"gpus": 8}]
    filled_in = json.loads(with_typical_pods(json.dumps(document).encode(), typical))
    profile = filled_in["profiles"][0]
    (of_filter,) = (rule for rule in profile["filters"] if rule["name"] == "SharedGpus")
    assert of_filter["args"]["typicalPods"] == [pod.argument() for pod in typical]
    assert profile["scores"][0]["args"]["typicalPods"] == [{"gpus": 8}]
