"""Writing what was got changes the values that were wrong, and nothing else."""

from __future__ import annotations

from kpolicy.offline.policy_tests.results import rewrites, updated
from kpolicy.offline.policy_tests.session import run_tests
from kpolicy.policy.yaml.source import Source
from tests.unit.offline.policy_tests.suites import HEAD, POLICY

TEXT = (
    HEAD
    + """\
nodes:
  - {name: n1, labels: {disk: ssd}}   # the better one
  - {name: n2, labels: {life: spot}}
tests:
  - name: all wrong
    pod: {priority: 5000}
    expect:
      decision: park   # for now
      node: "n2"
      best:
        - n2
        - n1
      filters:
        n1: {rejectedBy: off-spot}
        n2:
          rejectedBy:  rack
          message: >-
            folded
            text
      scores:
        n1: {ssd: 1, total: {atLeast: 500}}
      # the end
"""
)
UPDATED = (
    TEXT.replace("park   #", "place   #")
    .replace('"n2"', "n1")
    .replace("best:\n        - n2\n        - n1", "best:\n        [n1]")
    .replace("{rejectedBy: off-spot}", "pass")
    .replace("rejectedBy:  rack", "rejectedBy:  off-spot")
)
UPDATED = UPDATED.replace(
    "message: >-\n            folded\n            text", "message: node n2 is spot"
).replace("{ssd: 1,", "{ssd: 80,")


def test_values_are_written_and_layout_stays() -> None:
    policies = [Source("small.yaml", POLICY)]
    run = run_tests(Source("t.yaml", TEXT), policies=policies)
    text, count = updated(TEXT, rewrites(run.suites)["t.yaml"])
    assert text == UPDATED
    assert count == 7
    # A range is a decision of whoever wrote it, and stays.
    again = run_tests(Source("t.yaml", text), policies=policies)
    assert [mismatch.what for _, test in again.tests() for mismatch in test.mismatches] == [
        "scores.n1.total"
    ]
