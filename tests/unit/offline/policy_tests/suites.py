"""A small policy, and suites of tests for it as sources."""

from __future__ import annotations

from textwrap import dedent, indent

from kpolicy.offline.policy_tests.results import Mismatch, PolicyTestRun
from kpolicy.offline.policy_tests.session import run_tests
from kpolicy.policy.yaml.source import Source

POLICY = """\
apiVersion: kpolicy.dev/v1alpha1
kind: SchedulingPolicy
metadata:
  name: small
spec:
  profiles:
    - schedulerName: kpolicy
  params:
    critical: {type: int, default: 1000}
  variables:
    - name: disk
      expression: "'disk' in node.labels ? node.labels['disk'] : 'none'"
  predicates:
    - builtin: NodeResourcesFit
    - name: off-spot
      expression: pod.priority < params.critical || label(node, 'life') != 'spot'
      messageExpression: "'node ' + node.name + ' is spot'"
      reason: SpotForbidden
    - name: rack
      matchConditions:
        - {name: wants-rack, expression: "'rack' in pod.labels"}
      expression: node.labels['rack'] == pod.labels['rack']
    - name: noisy
      enforcement: audit
      expression: label(node, 'noisy') == ''
  priorities:
    - name: ssd
      weight: 3
      expression: "variables.disk == 'ssd' ? 80 : 20"
  preemption: {policy: LowerPriority}
  tieBreak: name
  base: none  # kpolicy: ignore[KP325]
"""
HEAD = """\
apiVersion: kpolicy.dev/v1alpha1
kind: PolicyTest
metadata:
  name: suite
"""
NODES = """\
nodes:
  - {name: n1, labels: {disk: ssd}}
  - {name: n2, labels: {life: spot}}
"""


def suite(tests: str, more: str = NODES) -> Source:
    body = indent(dedent(tests).strip("\n"), "  ")
    return Source("suite.test.yaml", f"{HEAD}{more}tests:\n{body}\n")


def ran(tests: str, more: str = NODES, policy: str = POLICY) -> PolicyTestRun:
    return run_tests(suite(tests, more), policies=[Source("small.yaml", policy)])


def mismatches(run: PolicyTestRun) -> list[Mismatch]:
    return [mismatch for _, test in run.tests() for mismatch in test.mismatches]


def mismatch_rows(run: PolicyTestRun) -> list[tuple[str, str, str]]:
    return [(mismatch.what, mismatch.expected, mismatch.got) for mismatch in mismatches(run)]


def codes(run: PolicyTestRun) -> list[tuple[str, int, int]]:
    """Code, line and column of everything that was found."""
    diagnostics = [
        *run.all_diagnostics(),
        *(diagnostic for _, test in run.tests() for diagnostic in test.diagnostics),
    ]
    return [
        (diagnostic.code, diagnostic.place.line, diagnostic.place.column)
        for diagnostic in diagnostics
        if diagnostic.place is not None
    ]
