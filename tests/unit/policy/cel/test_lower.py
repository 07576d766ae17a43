"""The IR: its layout, its reads, its bytes."""

from __future__ import annotations

import json

import pytest

from kpolicy.policy.cel import Environment, Parameter, compile_expression
from kpolicy.policy.cel.types import STRING, Type, list_of, map_of


def test_a_predicate_laid_out() -> None:
    text = "'lifecycle' in node.labels && node.labels['lifecycle'] != 'spot'"
    ir = compile_expression(text).ir
    assert ir is not None
    assert ir["constants"] == ["lifecycle", "spot"]
    assert [node["op"] for node in ir["nodes"]] == [
        "constant",
        "present",
        "constant",
        "fact",
        "constant",
        "call",
        "and",
    ]
    assert ir["nodes"][5]["overload"] == "not_equals_any"
    assert [text[start:end] for start, end in ir["spans"]] == [
        "'lifecycle'",
        "'lifecycle' in node.labels",
        "'lifecycle'",
        "node.labels['lifecycle']",
        "'spot'",
        "node.labels['lifecycle'] != 'spot'",
        text,
    ]
    assert ir["reads"] == [{"fact": "node.labels[]", "args": ["lifecycle"], "column": "text"}]
    assert (ir["root"], ir["type"], ir["time"]) == (6, "bool", "node_class")


@pytest.mark.parametrize(
    ("text", "reads"),
    [
        (
            "node.free('cpu') > pod.request('cpu')",
            [("node.free", ["cpu"]), ("pod.request", ["cpu"])],
        ),
        (
            "node.domain('rack').pods.count(selector('app=' + pod.labels['app'])) < 4",
            [("node.domain.pods.count", ["rack", None]), ("pod.labels[]", ["app"])],
        ),
        ("cluster.pods.size() > 3", [("cluster.pods.size", [])]),
        ("pod.controller.kind == 'Job'", [("pod.controller.kind", [])]),
        ("has(pod.controller)", [("pod.controller", [])]),
        ("node.conditions['Ready'] == 'True'", [("node.conditions[]", ["Ready"])]),
        ("node.labels.size() > 3", [("node.labels", [])]),
        ("node.labels[pod.name] == ''", [("node.labels[]", [None]), ("pod.name", [])]),
    ],
)
def test_reads_name_the_whole_path(text: str, reads: list[tuple[str, list[object]]]) -> None:
    expression = compile_expression(text)
    assert expression.diagnostics == ()
    assert expression.reads == tuple((fact, tuple(args)) for fact, args in reads)


def test_members_of_loop_variables_are_asked_of_the_object() -> None:
    ir = compile_expression("node.pods.exists(p, p.labels['a'] == 'b' && p.request('cpu') > 1)").ir
    assert ir is not None
    members = [node["member"] for node in ir["nodes"] if node["op"] == "member"]
    assert members == ["labels[]", "request"]


@pytest.mark.parametrize(
    ("variable", "text", "direct"),
    [
        (
            "node.domain('rack')",
            "variables.v.pods.count(selector('app=a')) < 3",
            "node.domain('rack').pods.count(selector('app=a')) < 3",
        ),
        ("node.domain('rack')", "variables.v.name == 'r1'", "node.domain('rack').name == 'r1'"),
        ("node.pods", "variables.v.size() < 3", "node.pods.size() < 3"),
        ("node.labels", "'a' in variables.v", "'a' in node.labels"),
        ("node.labels", "variables.v['a'] == 'b'", "node.labels['a'] == 'b'"),
        ("node.labels", "variables.v.?a.orValue('') == 'b'", "node.labels.?a.orValue('') == 'b'"),
        ("node", "label(variables.v, 'a') == 'b'", "label(node, 'a') == 'b'"),
        (
            "node.domain(label(pod, 'spread'))",
            "variables.v.nodeCount > 1",
            "node.domain(label(pod, 'spread')).nodeCount > 1",
        ),
    ],
)
def test_a_path_goes_on_through_a_variable_and_a_bound_name(
    variable: str, text: str, direct: str
) -> None:
    held = compile_expression(variable, is_variable=True)
    environment = Environment(variables={"v": held})
    used = compile_expression(text, environment=environment)
    bound = compile_expression(f"cel.bind(v, {variable}, {text.replace('variables.v', 'v')})")
    expected = compile_expression(direct)
    assert expected.ir is not None
    assert used.ir is not None
    assert used.diagnostics == expected.diagnostics
    assert used.ir["nodes"] == expected.ir["nodes"]
    assert used.reads == expected.reads
    # What was written in the variable is cited where the variable is used.
    assert all(len(span) == 2 and span[1] <= len(text) for span in used.ir["spans"])
    # A map is a value too, which a bound name holds; the others are only steps of a path.
    if variable != "node.labels":
        assert bound.ir is not None
        assert bound.reads == expected.reads
        assert bound.ir["nodes"] == expected.ir["nodes"]


def test_a_path_does_not_go_on_from_a_variable_with_a_loop_inside() -> None:
    """Its slots are numbered for that text; and of a domain alone nothing is known."""
    text = "node.domain(['a', 'b'].filter(k, k != 'b')[0])"
    environment = Environment(variables={"v": compile_expression(text, is_variable=True)})
    used = compile_expression("variables.v.nodeCount > 1", environment=environment)
    assert [finding.code for finding in used.diagnostics] == ["KP209"]
    assert used.ir is None


def test_parameters_with_values_are_constants_of_their_type() -> None:
    pools = Parameter(map_of(STRING, list_of(Type("double"))), {"ml": [1, 2.5]})
    environment = Environment(params={"pools": pools})
    ir = compile_expression("params.pools['ml']", environment=environment).ir
    assert ir is not None
    expected = {"map": [["ml", [{"double": "1.0"}, {"double": "2.5"}]]]}
    assert ir["constants"] == [expected]


def test_the_bytes_are_canonical() -> None:
    expression = compile_expression("'é'==pod.name")
    content = expression.ir_bytes()
    assert content == compile_expression("'é'==pod.name").ir_bytes()
    assert json.loads(content) == expression.ir
    assert "é".encode() in content
    assert b" " not in content.replace(b'"', b"")


def test_more_loops_than_slots_are_refused_here() -> None:
    text = " && ".join(["[1].all(x, x > 0)"] * 65)
    expression = compile_expression(text)
    assert [diagnostic.code for diagnostic in expression.diagnostics] == ["KP112"]
