"""Types, facts and macros from a user's view: an expression has a type or diagnostics."""

from __future__ import annotations

import pytest

from kpolicy.diagnostics import Severity
from kpolicy.policy.cel import CompiledExpression, Environment, Parameter, Type, compile_expression
from kpolicy.policy.cel.facts import Time
from kpolicy.policy.cel.types import BOOL, INT, STRING, list_of, map_of

ENVIRONMENT = Environment(
    params={
        "pools": Parameter(map_of(STRING, list_of(STRING)), {"ml": ["a100"]}),
        "open": Parameter(INT),
    },
)


def compiled(text: str, **more: object) -> CompiledExpression:
    return compile_expression(text, environment=ENVIRONMENT, **more)  # type: ignore[arg-type]


def codes(text: str) -> list[str]:
    return [diagnostic.code for diagnostic in compiled(text).diagnostics]


@pytest.mark.parametrize(
    ("text", "kind", "time"),
    [
        ("1 + 2", "int", Time.CONST),
        ("cpu('500m') * 2", "int (milli-cpu)", Time.CONST),
        ("params.open + 1", "int", Time.PARAMS),
        ("params.pools['ml']", "list(string)", Time.CONST),
        ("cluster.nodeCount", "int", Time.CLUSTER),
        ("pod.priority >= 1000", "bool", Time.POD),
        ("pod.labels", "map(string, string)", Time.POD),
        ("namespaceObject.labels['a']", "string", Time.POD),
        ("'a' in node.labels", "bool", Time.NODE_CLASS),
        ("node.taints.all(t, pod.tolerates(t))", "bool", Time.NODE_CLASS),
        ("node.free('cpu')", "int (milli-cpu)", Time.NODE),
        ("node.free('memory') / 20", "int (bytes)", Time.NODE),
        ("node.utilization('cpu') < 1", "bool", Time.NODE),
        ("node.domain('zone').pods.count(selector('a=b'))", "int", Time.DOMAIN),
        ("node.pods.exists(p, p.priority > 1 && 'x' in p.labels)", "bool", Time.NODE),
        ("node.labels.?zone.orValue('x')", "string", Time.NODE_CLASS),
        ("label(node, 'zone')", "string", Time.NODE_CLASS),
        ("[1, 2].map(i, i * 2)", "list(int)", Time.CONST),
        ("{'a': 1}.transformMap(k, v, k + string(v))", "map(string, string)", Time.CONST),
        ("[1, 2].exists(i, v, i > v)", "bool", Time.CONST),
        ("cel.bind(x, pod.priority, x + x)", "int", Time.POD),
        ("math.greatest(1, 2, 3)", "int", Time.CONST),
        ("timestamp('2026-01-01T00:00:00Z').getHours()", "int", Time.CONST),
        ("quantity('1Gi').add(quantity('2Gi')).isGreaterThan(quantity('1'))", "bool", Time.CONST),
        ("type(1) == int", "bool", Time.CONST),
        ("node.fits(pod)", "bool", Time.NODE),
        ("1.0 in [1, 2]", "bool", Time.CONST),
    ],
)
def test_types_and_binding_times(text: str, kind: str, time: Time) -> None:
    expression = compiled(text)
    assert expression.diagnostics == ()
    assert (str(expression.type), expression.time) == (kind, time)
    assert expression.ir is not None


@pytest.mark.parametrize(
    ("text", "code", "marked", "message", "hint"),
    [
        ("node.lables['x']", "KP201", "lables", "a Node has no `lables`", "`labels`"),
        ("nod.name == 'x'", "KP201", "nod", "nothing called `nod`", "`node`"),
        ("variables.x", "KP201", "x", "no variable `x`", "above"),
        ("params.pool", "KP201", "pool", "no parameter `pool`", "`pools`"),
        ("startWith('a')", "KP201", "startWith", "no function `startWith`", "`startsWith`"),
        ("startsWith('a', 'b')", "KP201", "startsWith", "not called like this", "x.startsWith"),
        ("victim.priority > 1", "KP201", "victim", "not known here", "`pod`"),
        ("node.free()", "KP202", "node.free()", "takes 1 argument, not 0", ""),
        ("size(1, 2)", "KP202", "size(1, 2)", "takes 1 argument, not 2", ""),
        ("node.free", "KP205", "free", "is a function", "free(…)"),
        ("node.name()", "KP202", "node.name()", "takes no arguments", "`.name`"),
        ("pod.request('cpu') > '500m'", "KP204", ">", "left is int (milli-cpu)", "cpu('500m')"),
        ("'a' + 1", "KP204", "+", "left is string, right is int", "string(…)"),
        ("1 + 1.0", "KP204", "+", "left is int, right is double", "double(…)"),
        ("!1", "KP204", "!", "does not take int", ""),
        ("1 && true", "KP204", "1", "needs bool, this is int", "!= 0"),
        ("1 ? 2 : 3", "KP204", "1", "needs bool", ""),
        ("pod.name.foo", "KP205", "foo", "string has no fields", ""),
        ("node['a']", "KP204", "node['a']", "cannot be indexed", ".labels"),
        ("node.labels[1]", "KP204", "1", "keys are string", ""),
        ("1 in node.labels", "KP204", "1", "keys are string", ""),
        ("pod.priority.all(x, true)", "KP204", "pod.priority", "a list or a map", ""),
        ("[1].all(x, x)", "KP204", "x", "needs a bool here", ""),
        ("[1].all(1, true)", "KP204", "1", "name of a variable", ""),
        ("has(1)", "KP204", "1", "needs a field", "in"),
        ("cpu('12x')", "KP207", "'12x'", "not a quantity", ""),
        ("duration('1 hour')", "KP207", "'1 hour'", "not a duration", ""),
        ("timestamp('now')", "KP207", "'now'", "not a timestamp", ""),
        ("selector('a=b,')", "KP207", "'a=b,'", "not a label selector", ""),
        ("node.name.matches('(')", "KP207", "'('", "RE2", ""),
        ("node.name.matches('a(?=b)')", "KP207", "'a(?=b)'", "look-around", ""),
        ("node.name.matches(pod.name)", "KP402", "pod.name", "must be constant", "startsWith"),
        (
            "node.pods.all(p, node.pods.all(q, p.labels == q.labels))",
            "KP401",
            "node.pods.all",
            "the limit is 10,000",
            "count",
        ),
    ],
)
def test_errors_say_what_and_where(
    text: str, code: str, marked: str, message: str, hint: str
) -> None:
    expression = compiled(text)
    assert expression.ir is None
    (diagnostic,) = [d for d in expression.diagnostics if d.severity is Severity.ERROR]
    assert diagnostic.code == code
    assert message in diagnostic.message
    assert hint in diagnostic.hint
    assert diagnostic.span is not None
    at = text.rindex(marked) if text.count(marked) > 1 else text.index(marked)
    assert text[diagnostic.span.start : diagnostic.span.end] == marked
    assert diagnostic.span.start in (at, text.index(marked))


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("pod.priority == 'high'", "KP206"),
        ("node.free('cpu') > node.free('memory')", "KP321"),
        ("true ? 1 : 'a'", "KP208"),
    ],
)
def test_warnings_do_not_stop(text: str, code: str) -> None:
    expression = compiled(text)
    assert [(d.code, d.severity) for d in expression.diagnostics] == [(code, Severity.WARNING)]
    assert expression.ir is not None


def test_the_result_must_be_what_is_expected() -> None:
    assert compiled("1", expects=BOOL).diagnostics[0].code == "KP203"
    assert compiled("1", expects=(BOOL, INT)).diagnostics == ()
    assert [d.code for d in compiled("dyn(1)", expects=INT).diagnostics] == ["KP208"]


def test_all_errors_of_an_expression_are_found_and_none_follows_from_another() -> None:
    assert codes("node.fre('cpu') + 1 > pod.prioriti && nope") == ["KP201"] * 3


def test_loop_variables_hide_roots() -> None:
    assert compiled("[1].all(node, node > 0)").diagnostics == ()
    assert codes("[1].all(node, node.name == '')") == ["KP205"]


def test_variables_are_laid_out_once_with_their_own_spans() -> None:
    team = compiled("'team' in pod.labels ? pod.labels['team'] : 'none'")
    environment = Environment(variables={"team": team})
    text = "variables.team == 'a' || variables.team == 'b'"
    expression = compile_expression(text, environment=environment)
    assert expression.ir is not None
    assert expression.type == BOOL
    assert expression.time is Time.POD
    overloads = [node.get("overload") for node in expression.ir["nodes"]]
    assert overloads.count("equals_any") == 2
    assert [node["op"] for node in expression.ir["nodes"]].count("conditional") == 1
    sources = {span[2] for span in expression.ir["spans"] if len(span) == 3}
    assert sources == {"variables.team"}


def test_loops_inside_variables_do_not_take_the_slots_of_loops_around() -> None:
    inner = compile_expression("[1, 2].all(x, x > 0)")
    environment = Environment(variables={"ok": inner})
    expression = compile_expression("[3].all(y, variables.ok && y > 2)", environment=environment)
    assert expression.ir is not None
    slots = [tuple(node["slots"]) for node in expression.ir["nodes"] if node["op"] == "loop"]
    assert len(set(slots)) == 2


def test_a_broken_variable_is_not_reported_again() -> None:
    broken = compiled("pod.nope")
    environment = Environment(variables={"broken": broken})
    expression = compile_expression("variables.broken + 1 > 2", environment=environment)
    assert expression.diagnostics == ()
    assert expression.ir is None


def test_unchecked_leaves_refusals_to_the_evaluation() -> None:
    environment = Environment(roots=(), checked=False)
    expression = compile_expression("x || true", environment=environment)
    assert expression.diagnostics == ()
    assert expression.ir is not None
    assert expression.ir["nodes"][0]["op"] == "error"


def test_inputs_may_have_dotted_names() -> None:
    environment = Environment(roots=(), inputs={"a.b": INT, "a": Type("dyn")})
    expression = compile_expression("a.b + 1", environment=environment)
    assert expression.reads == (("a.b", ()),)
