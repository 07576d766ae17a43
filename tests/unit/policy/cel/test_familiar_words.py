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
    "node.cpu > 4": "write `node.free('cpu')` or `node.allocatable('cpu')`",
    "pod.memory > 4": "write `pod.request('memory')`",
    "node.gpu > 0": "write `node.free('nvidia.com/gpu')` or `node.allocatable('nvidia.com/gpu')`",
    "node.zone == 'a'": "write `label(node, 'topology.kubernetes.io/zone')`",
    "pod.owner == 'a'": "write `pod.controller.name`, `.kind`, or `node.pods.sameController(pod)`",
    "pod.nodeName == 'a'": "write `node.name`: the node that is judged",
    "now() > timestamp(0)": "write `now`, without parentheses",
    "now.hour > 5": "write `t.getHours('UTC')`",
    "now.minute > 5": "write `t.getMinutes('UTC')`",
    "now.weekday > 5": "write `t.getDayOfWeek('UTC')`, 0 is Sunday",
    "quantity('1') >= quantity('2')": "write `a.compareTo(b) >= 0`",
    "node.labels['a'] > 5": "write `int(…)` around the string, or a string on both sides",
    "node.labels['a'] != null": "whether there is one: `'key' in m` for a key, `has(a.b)` for a "
    "field",
    "pod.priority": "compare it, for example `… > 0`",
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
        "node.free('cpu') < node.allocatable('cpu') || pod.request('cpu') > 0",
        "label(node, 'topology.kubernetes.io/zone') == 'a'",
        "pod.controller.name == 'a' && pod.controller.kind == 'ReplicaSet'",
        "node.pods.sameController(pod) < 1",
        "now.getHours('UTC') + now.getMinutes('UTC') + now.getDayOfWeek('UTC') > 5",
        "quantity('1').compareTo(quantity('2')) >= 0",
        "int(label(node, 'a')) > 5",
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
    goes_on = "put the whole value in quotes: it begins with a {}, and goes on"
    assert hints("'a' in node.labels") == [goes_on.format("quote")]
    assert hints("['a'].exists(x, x == node.name)") == [goes_on.format("bracket")]
    assert hints("!has(node.labels.a) || node.ready") == [
        "put the whole value in quotes: a `!` at its beginning is a tag of YAML"
    ]
    assert hints("!node.ready") == ["put the whole value in quotes"]
    assert hints("@name") == ["put the value in quotes: no value begins with this character"]
    # A bracket that is not closed is another mistake.
    assert hints("node.ready\n      match: {a: [b}") == [""]
