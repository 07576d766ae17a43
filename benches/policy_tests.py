"""Measures how long many small tests of a policy take, from the text of the file to the results.
They run in one process, with coverage; the time includes compiling the policy.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from time import perf_counter

import kpolicy
from kpolicy.policy.yaml.source import Source

TESTS: int = 1_000
_HEAD = """\
apiVersion: kpolicy.dev/v1alpha1
kind: PolicyTest
metadata: {name: many}
policies: [gpu-pools]
fixtures:
  gpu: {labels: {nvidia.com/gpu.product: H100}, allocatable: {cpu: 64, nvidia.com/gpu: 8}}
podFixtures:
  train: {requests: {cpu: 4, nvidia.com/gpu: 1}}
nodes:
  - {name: broken, from: gpu}
  - {name: whole, from: gpu}
  - {name: plain, allocatable: {cpu: 64}}
running:
  - {name: there, node: broken, from: train, requests: {nvidia.com/gpu: 5, cpu: 20}}
tests:
"""
_TEST = """\
  - name: test {number}
    pod: {{from: train, name: p{number}, requests: {{cpu: {cpu}}}}}
    expect:
      decision: place
      node: broken
      filters: {{plain: {{rejectedBy: NodeResourcesFit}}}}
      scores: {{broken: {{keep-whole-nodes: 100}}}}
"""


@dataclass(frozen=True, slots=True)
class Run:
    """`seconds` is the whole time without imports; `load_seconds` is the time of imports."""

    tests: int
    passed: int
    seconds: float
    load_seconds: float

    def line(self) -> dict[str, float]:
        return asdict(self)


def measure(count: int = TESTS) -> Run:
    tests = (_TEST.format(number=number, cpu=1 + number % 4) for number in range(count))
    source = Source("many.test.yaml", _HEAD + "".join(tests))
    started = perf_counter()
    kpolicy.run_tests(Source("one.test.yaml", _HEAD + _TEST.format(number=0, cpu=1)))
    loaded = perf_counter()
    run = kpolicy.run_tests(source)
    ended = perf_counter()
    if run.failed or run.all_diagnostics():
        raise AssertionError(json.dumps(run.to_json())[:2_000])
    return Run(count, run.passed, ended - loaded, loaded - started)


def table(run: Run) -> list[str]:
    each = 1000 * run.seconds / run.tests
    return [
        f"{run.passed:,} of {run.tests:,} tests passed in {run.seconds:.2f} s, {each:.2f} ms each",
        f"the first one, with what it loads: {run.load_seconds:.2f} s",
    ]
