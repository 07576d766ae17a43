"""Rules as node affinity accept the nodes that the engine accepts, whatever labels nodes have."""

from __future__ import annotations

import json
from itertools import product

import pytest

from kpolicy import Snapshot, Source, compile_policy, explain
from kpolicy.policy.compile import examine
from kpolicy.policy.format.affinity_of_rule import accepted
from kpolicy.policy.format.affinity_terms import Need, NotSayableError, Term, terms_of
from kpolicy.testing import node, pod
from tests.unit.policy.policies import policy

VALUES = (None, "", "a", "b", "7", "-3")
NODES = {
    f"n{number}": {key: value for key, value in zip("kl", values, strict=True) if value is not None}
    for number, values in enumerate(product(VALUES, repeat=2))
}
EXPRESSIONS = (
    "label(node, 'k') == 'a'",
    "label(node, 'k') != 'a'",
    "label(node, 'k') == ''",
    "label(node, 'k') != ''",
    "node.labels['k'] == 'a'",
    "node.labels.k != 'a'",
    "node.labels['k'] != ''",
    "!(node.labels['k'] == 'a')",
    "'a' == label(node, 'k')",
    "'k' in node.labels",
    "!has(node.labels.k)",
    "label(node, 'k') in ['a', 'b']",
    "!(label(node, 'k') in ['a', 'b'])",
    "!(node.labels['k'] in ['a', 'b'])",
    "label(node, 'k') in ['', 'a']",
    "label(node, 'k') in []",
    "int(node.labels['k']) > 6",
    "int(node.labels['k']) >= 7 || int(node.labels['k']) < -2",
    "!(int(label(node, 'k')) <= 6)",
    "-4 < int(node.labels.k)",
    "node.labels['k'] == 'a' || label(node, 'l') == 'b'",
    "node.labels['k'] == 'a' && node.labels['l'] != 'b'",
    "!(node.labels['k'] == 'a' && node.labels['l'] == 'b')",
    "node.labels['k'] == 'a' ? 'l' in node.labels : node.labels['l'] == 'b'",
    "variables.isA || node.metadata.labels['l'] == '7'",
    "true",
)
VARIABLES = "variables: [{name: isA, expression: \"node.labels['k'] == 'a'\"}]\n"


def document(expression: str, on_error: str) -> str:
    rule = {"name": "rule", "expression": expression, "onError": on_error}
    return policy(f"{VARIABLES}predicates: [{json.dumps(rule)}]")


def of_rule(expression: str, on_error: str = "reject") -> tuple[Term, ...]:
    examined = examine(document(expression, on_error))
    tree = examined.expressions.own["p"].tree(("spec", "predicates", 0, "expression"))
    assert tree is not None, examined.findings
    return terms_of(accepted(tree, accepts_errors=on_error == "accept", root="object"))


def meets(labels: dict[str, str], need: Need) -> bool:
    """As kube-scheduler has it."""
    value, listed = labels.get(need.key), [text[1:-1] for text in need.values]
    match need.operator:
        case "Exists":
            return value is not None
        case "DoesNotExist":
            return value is None
        case "In":
            return value in listed
        case "NotIn":
            return value not in listed
    if value is None or not value.lstrip("-").isdigit():
        return False
    return int(value) > int(listed[0]) if need.operator == "Gt" else int(value) < int(listed[0])


@pytest.mark.parametrize("on_error", ["reject", "accept"])
@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_the_same_nodes_are_accepted(expression: str, on_error: str) -> None:
    try:
        terms = of_rule(expression, on_error)
    except NotSayableError:
        assert (on_error, "int(" in expression) == ("accept", True)
        return
    assert all(term.condition == "true" for term in terms)
    by_affinity = {
        name
        for name, labels in NODES.items()
        if any(all(meets(labels, need) for need in term.needs) for term in terms)
    }
    compiled = compile_policy([Source("p.yaml", document(expression, on_error))])
    assert compiled.program is not None
    nodes = [node(name, labels=labels) for name, labels in NODES.items()]
    [explained] = explain(Snapshot.of([*nodes, pod("p")]), compiled.program).explanations
    by_rule = {each["name"] for each in explained["nodes"] if "filter" not in each}
    assert by_affinity == by_rule


@pytest.mark.parametrize(
    ("expression", "why"),
    [
        ("node.podCount < 5", "it reads `node.podCount`"),
        ("cluster.pods.count(selector('a')) < 5", "it reads `cluster.pods.count`"),
        ("pod.name == 'a' || 'k' in node.labels", "it reads `pod.name`"),
        ("now.getHours() > 5", "it reads `now`"),
        ("label(node, 'k').startsWith('a')", "compares a label with whole values only"),
        ("label(node, 'k') == label(pod, 'a') + 'x'", "it computes with `add`"),
        ("label(node, 'k') == pod.annotations['a']", "what may be no value of labels"),
        ("int(node.labels['k']) > pod.priority", "with a constant only"),
        ("node.labels.exists(k, k == 'a')", "it reads `node.labels`"),
        (
            " && ".join(f"('a{i}' in node.labels || 'b{i}' in node.labels)" for i in range(6)),
            "more than 32 alternatives",
        ),
    ],
)
def test_what_affinity_cannot_say(expression: str, why: str) -> None:
    with pytest.raises(NotSayableError) as raised:
        of_rule(expression)
    assert why in str(raised.value)


def test_tests_of_the_pod_choose_the_terms() -> None:
    important, spot = of_rule("pod.priority < 1000 || !('spot' in node.labels)")
    priority = "(has(object.spec.priority) ? object.spec.priority : 0)"
    assert important == Term(tests=(f"{priority} < 1000",))
    assert spot == Term(needs=(Need("spot", "DoesNotExist"),))
