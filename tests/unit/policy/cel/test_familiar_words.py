"""What people write first from habit has a hint that says what to write, and that is right."""

from __future__ import annotations

import re

import pytest

from kpolicy import compile_policy
from kpolicy.policy.cel.familiar_words import FUNCTIONS, MEMBERS, NAMES, WORDS

POLICY = """\
apiVersion: kpolicy.dev/v1alpha1
kind: SchedulingPolicy
metadata: {{name: a}}
spec:
  profiles: [{{schedulerName: kpolicy}}]
  predicates:
    - name: a
      expression: {expression}
"""


def hints(expression: str) -> list[str]:
    compiled = compile_policy(POLICY.format(expression=expression))
    return [finding.hint for finding in compiled.diagnostics if finding.is_error]


HINTS = {
    "node.ready and pod.priority > 1": "write `&&`",
    "node.ready or pod.priority > 1": "write `||`",
    "not node.ready": "write `!`",
    "node.ready is true": "write `==`",
    "node.ready if true else false": "write `CONDITION ? A : B`",
    "node.free('cpu') > 500m": "write `cpu('500m')`",
    "node.free('memory') > 2.5Gi": "write `units('2.5Gi')`",
    "node.free('memory') > quantity('2Gi')": "amounts of resources are numbers: write "
    "`units('2Gi')`, or `cpu('500m')`",
    "node.ready == True": "write `true`",
    "len(node.pods) > 1": "write `x.size()`",
    "node.labels.get('x') == ''": "write `x['key']`, or `x[?'key'].orValue('')` if the key may be "
    "missing",
    "cluster.pdbs.size() > 0": MEMBERS["pdbs"],
}


@pytest.mark.parametrize("expression", HINTS)
def test_a_habit_has_a_hint(expression: str) -> None:
    assert hints(f'"{expression}"')[:1] == [HINTS[expression]]


@pytest.mark.parametrize(
    "expression",
    [
        "node.free('cpu') > cpu('500m')",
        "node.free('memory') > units('2.5Gi')",
        "node.pods.size() > 1",
        "node.labels[?'x'].orValue('') == ''",
        "'x' in node.labels",
        "node.name.lowerAscii().trim().upperAscii().matches('a')",
        "string(double('1')) == '1'",
    ],
)
def test_what_hints_say_is_written_so(expression: str) -> None:
    assert hints(f'"{expression}"') == []


def test_no_habit_is_a_word_of_the_language() -> None:
    """A function that exists needs no hint; 20 words and more are known."""
    assert len(WORDS) + len(NAMES) + len(FUNCTIONS) + len(MEMBERS) >= 25
    for name in FUNCTIONS:
        found = hints(f'"{name}(node.name) == node.name"')
        assert found[:1] == [FUNCTIONS[name]], name
    assert all(re.match("write `", hint) for hint in (*WORDS.values(), *NAMES.values()))


def test_traps_of_yaml_have_hints() -> None:
    assert hints("node.ready ? a: b") == [
        "put the value in quotes if it contains a colon and a space"
    ]
    assert hints("a\n\tb: 1") == ["indent with spaces: YAML takes no tabs"]
