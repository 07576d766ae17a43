"""`kpolicy eval`: values in JSON and text, facts of a snapshot, sub-expressions, batches."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest

from kpolicy.cli import main
from kpolicy.testing import node, pod

DURATION = "type.googleapis.com/google.protobuf.Duration"
Capture = pytest.CaptureFixture[str]


def asked(capsys: Capture, *arguments: str) -> tuple[int, Any, str]:
    """The exit code, what JSON was printed, and standard error."""
    code = main(["eval", *arguments, "--output", "jsonl"])
    captured = capsys.readouterr()
    return code, json.loads(captured.out) if captured.out else None, captured.err


def batch(capsys: Capture, path: Path, *lines: str, flags: tuple[str, ...] = ()) -> list[Any]:
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    assert main(["eval", "--batch", str(path), *flags]) == 0
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


@pytest.fixture
def snapshot(tmp_path: Path) -> str:
    items = [
        {
            "apiVersion": "v1",
            "kind": "Namespace",
            "metadata": {"name": "shop", "labels": {"tenant": "a"}},
        },
        node("n1", labels={"zone": "east"}, cpu="4", memory="8Gi"),
        node("n2", cpu="2", memory="4Gi"),
        pod("web", namespace="shop", labels={"app": "web"}, cpu="500m"),
        pod("old", namespace="shop", cpu="1", node_name="n1"),
    ]
    path = tmp_path / "cluster.json"
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
    return str(path)


@pytest.mark.parametrize(
    ("expression", "line"),
    [
        ("1 + 2", {"type": "int", "value": 3}),
        ("18446744073709551615u", {"type": "uint", "value": 18446744073709551615}),
        ("0.5 + 0.5", {"type": "double", "value": 1.0}),
        ("0.0 / 0.0", {"type": "double", "value": "NaN"}),
        ("-1.0 / 0.0", {"type": "double", "value": "-Infinity"}),
        ("'a\\u00e9'", {"type": "string", "value": "aé"}),
        ("b'\\xff\\x00'", {"type": "bytes", "value": "/wA="}),
        ("null", {"type": "null_type", "value": None}),
        ("type(1)", {"type": "type", "value": "int"}),
        ("duration('90s')", {"type": "google.protobuf.Duration", "value": "90s"}),
        (
            "timestamp('2026-11-01T10:00:00Z')",
            {"type": "google.protobuf.Timestamp", "value": "2026-11-01T10:00:00Z"},
        ),
        ("[1, 'a', [true]]", {"type": "list", "value": [1, "a", [True]]}),
        ("{'a': {'b': 1.5}}", {"type": "map", "value": {"a": {"b": 1.5}}}),
        ("[1u]", {"type": "list", "value": [1], "exact": [{"uint": 1}]}),
        (
            "{1: 'a', true: 'b'}",
            {
                "type": "map",
                "value": {"1": "a", "true": "b"},
                "exact": {"map": [[1, "a"], [True, "b"]]},
            },
        ),
        (
            "{1: 'a', '1': 'b'}",
            {
                "type": "map",
                "value": [[1, "a"], ["1", "b"]],
                "exact": {"map": [[1, "a"], ["1", "b"]]},
            },
        ),
        ("{'uint': 1}", {"type": "map", "value": {"uint": 1}, "exact": {"map": [["uint", 1]]}}),
        ("optional.none()", {"type": "optional_type", "value": []}),
        ("optional.of(1)", {"type": "optional_type", "value": [1]}),
        ("quantity('1.5Gi')", {"type": "kubernetes.Quantity", "value": "1610612736"}),
    ],
)
def test_values(expression: str, line: Any, capsys: Capture) -> None:
    code, got, _ = asked(capsys, expression)
    if "exact" in line and "map" in line["exact"]:
        # Entries of a map have no order.
        assert sorted(map(str, got["exact"]["map"])) == sorted(map(str, line["exact"]["map"]))
        got, line = {**got, "exact": 0}, {**line, "exact": 0}
    if isinstance(line["value"], list) and line["type"] == "map":
        got, line = ({**value, "value": sorted(map(str, value["value"]))} for value in (got, line))
    assert (code, got) == (0, line)
    assert type(got["value"]) is type(line["value"])


@pytest.mark.parametrize(
    "value",
    [
        "1",
        "1.0",
        "true",
        "null",
        '"a"',
        "[1, [2.5]]",
        '{"a": {"b": [1]}}',
        '{"uint": 7}',
        '{"double": "NaN"}',
        '{"bytes": "/wA="}',
        '{"duration": "90s"}',
        '{"optional": [{"uint": 1}]}',
        '{"timestamp": "2026-11-01T10:00:00Z"}',
        '{"map": [[1, {"uint": 2}]]}',
        '{"type": "int"}',
        '{"quantity": "2Gi"}',
        '{"map": [["uint", 1]]}',
    ],
)
def test_a_value_comes_back_as_it_went_in(value: str, capsys: Capture) -> None:
    _, first, _ = asked(capsys, "x", "--var", f"x={value}")
    exact = first.get("exact", json.loads(value))
    _, second, _ = asked(capsys, "x", "--var", f"x={json.dumps(exact)}")
    assert first == second
    _, same, _ = asked(capsys, "type(x) == type(y)", "--var", f"x={value}", "--var", f"y={value}")
    assert same["value"] is True


@pytest.mark.parametrize(
    ("value", "expression"),
    [
        ('{"int64Value": "5"}', "x == 5 && type(x) == int"),
        ('{"uint64Value": 5}', "x == 5u && type(x) == uint"),
        (
            '{"mapValue": {"entries": [{"key": {"int64Value": 1}, "value": {"stringValue": "a"}}]}}',  # noqa: E501
            "x[1] == 'a'",
        ),
        ('{"listValue": {"values": [{"boolValue": true}]}}', "x[0]"),
        (f'{{"objectValue": {{"@type": "{DURATION}", "value": "5s"}}}}', "x == duration('5s')"),
        ('{"type": "spot"}', "x.type == 'spot'"),
        ('{"type": "spot", "uint": 1}', "x.uint == 1"),
    ],
)
def test_variables_in_other_forms(value: str, expression: str, capsys: Capture) -> None:
    assert asked(capsys, expression, "--var", f"x={value}")[1] == {"type": "bool", "value": True}


def test_facts_are_those_of_the_pod_and_the_node(snapshot: str, capsys: Capture) -> None:
    flags = ("--snapshot", snapshot, "--pod", "shop/web", "--node", "n1")
    expression = (
        "[pod.labels['app'], node.labels['zone'], namespaceObject.labels['tenant'], "
        "string(node.free('cpu')), string(pod.request('cpu')), string(cluster.nodeCount)]"
    )
    _, got, _ = asked(capsys, expression, *flags)
    assert got["value"] == ["web", "east", "a", "3000", "500", "2"]


def test_a_placed_pod_is_asked_about_as_if_it_were_not_there(
    snapshot: str, capsys: Capture
) -> None:
    flags = ("--snapshot", snapshot, "--node", "n1")
    assert asked(capsys, "node.free('cpu')", *flags)[1]["value"] == 3000
    got = asked(capsys, "node.free('cpu')", *flags, "--pod", "shop/old")[1]
    assert got["value"] == 4000


def test_what_is_not_there_cannot_be_asked(snapshot: str, capsys: Capture) -> None:
    assert main(["eval", "1", "-s", snapshot, "--pod", "shop/wep"]) == 2
    assert "shop/wep in the snapshot; did you mean `shop/web`?" in capsys.readouterr().err
    assert main(["eval", "1", "-s", snapshot, "--node", "n3"]) == 2
    assert "there is no node n3 in the snapshot" in capsys.readouterr().err
    assert main(["eval", "1", "--pod", "a"]) == 2
    assert main(["eval"]) == 2
    assert main(["eval", "1", "--var", "x=abc"]) == 2
    assert "a text needs quotes" in capsys.readouterr().err


def test_a_fact_without_its_flag_says_which(snapshot: str, capsys: Capture) -> None:
    code, got, _ = asked(capsys, "pod.priority")
    assert (code, got["error"]["code"]) == (1, "KP201")
    assert got["error"]["hint"] == "give a snapshot and a pod, or a variable `pod`"
    _, got, _ = asked(capsys, "node.name", "-s", snapshot)
    assert got["error"]["hint"] == "give a node, or a variable `node`"


def test_errors_have_a_code_and_a_place(capsys: Capture) -> None:
    code, got, _ = asked(capsys, "1 + x.b", "--var", 'x={"a": 1}')
    assert code == 1
    error = {"code": "KR102", "message": "no such key: b", "start": 4, "end": 7}
    assert got == {"error": error}
    assert asked(capsys, "1 +")[1]["error"]["code"] == "KP110"
    assert asked(capsys, "x / 0", "--var", "x=1")[1]["error"]["code"] == "KR103"


def test_what_is_refused_and_not_reached_has_a_value_and_a_finding(capsys: Capture) -> None:
    code, got, _ = asked(capsys, "true || 1 + 'a' == 2")
    assert (code, got["type"], got["value"]) == (1, "bool", True)
    assert [finding["code"] for finding in got["findings"]] == ["KP204"]


def test_every_sub_expression_is_shown(capsys: Capture) -> None:
    expression = "x.exists(i, i > 1) || x.size() / 0 == 1"
    assert main(["eval", expression, "--var", "x=[1, 2, 3]", "--explain"]) == 0
    assert capsys.readouterr().out == (
        "true : bool\n"
        "x.exists(i, i > 1) || x.size() / 0 == 1  true\n"
        "├─ x.exists(i, i > 1)                    true\n"
        "│  ├─ x                                  [1, 2, 3]\n"
        "│  └─ i > 1                              false, true (2 times)\n"
        "│     └─ i                               1, 2 (2 times)\n"
        "└─ x.size() / 0 == 1                     (not evaluated)\n"
        "   └─ x.size() / 0                       (not evaluated)\n"
        "      └─ x.size()                        (not evaluated)\n"
        "         └─ x                            (not evaluated)\n"
    )
    _, got, _ = asked(capsys, "x[0] + 1", "--var", "x=[4]", "--explain")
    child = got["explain"]["children"][0]
    assert (child["expression"], child["value"], child["start"]) == ("x[0]", 4, 0)
    assert got["cost"] > 0


def test_a_batch_answers_every_line_whatever_is_in_it(tmp_path: Path, capsys: Capture) -> None:
    lines = (
        '{"expr": "x + 1", "vars": {"x": 41}}',
        "not json",
        "[1]",
        '{"expr": 5}',
        '{"expr": "1 +"}',
        '{"expr": "x", "vars": [1]}',
        '{"expr": "x", "vars": {"x": 99999999999999999999}}',
        '{"expr": "pod.name", "pod": 3}',
        '{"expr": "pod.name", "pod": "a/b"}',
        '{"expr": "\\ud800"}',
        '{"expr": "x", "vars": {"x": "\\ud800"}}',
        '{"expr": "x", "vars": {"x": ' + "[" * 150 + "]" * 150 + "}}",
        '{"expr": "x", "vars": {"x": ' + "[" * 100_000,
        '{"expr": "x", "vars": {"x": {"mapValue": {"entries": [1]}}}}',
        "",
        '{"expr": "' + "(" * 5000 + '"}',
        '{"expr": "[1,2,3,4,5,6,7,8,9].map(a, [1,2,3,4,5,6,7,8,9].map(b, a * b)).size()"}',
        '{"expr": "y.size()", "vars": {"y": [1, 2]}}',
    )
    answers = batch(capsys, tmp_path / "b.jsonl", *lines, flags=("--var", "z=1"))
    assert len(answers) == len(lines) - 1
    assert [answer.get("value") for answer in answers[:1] + answers[-2:]] == [42, 9, 2]
    codes = [answer["error"]["code"] for answer in answers[1:-2]]
    assert codes == [
        "bad_request",
        "bad_request",
        "bad_request",
        "KP110",
        "bad_request",
        "bad_request",
        "bad_request",
        "unknown_object",
        "KP110",
        "bad_request",
        "bad_request",
        "bad_request",
        "bad_request",
        "KP112",
    ]
    assert all(answer["error"]["message"] for answer in answers[1:-2])


def test_a_batch_of_a_snapshot(snapshot: str, tmp_path: Path, capsys: Capture) -> None:
    lines = ('{"expr": "pod.name + node.name"}', '{"expr": "pod.name", "pod": "shop/old"}')
    flags = ("-s", snapshot, "--pod", "shop/web", "--node", "n2")
    answers = batch(capsys, tmp_path / "b.jsonl", *lines, flags=flags)
    assert [answer["value"] for answer in answers] == ["webn2", "old"]


def test_standard_input(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO('{"expr": "1"}\n{"expr": "2"}'))
    assert main(["eval", "--batch", "-"]) == 0
    assert [json.loads(line)["value"] for line in capsys.readouterr().out.splitlines()] == [1, 2]
    monkeypatch.setattr("sys.stdin", io.StringIO("1 + 1\n"))
    assert main(["eval", "-"]) == 0
    assert capsys.readouterr().out == "2 : int\n"


def test_a_cross_check_says_whether_cel_python_gives_the_same(capsys: Capture) -> None:
    assert main(["eval", "--cross-check", "1 + 2"]) == 0
    assert capsys.readouterr().err == "cross-check: cel-python gives the same\n"
    code, line, _ = asked(capsys, "--cross-check", "string(true)")
    assert code == 0
    assert line["crossCheck"]["difference"]["known"] == "text-of-bool"
    assert line["crossCheck"]["difference"]["follows"] == "kpolicy"


def test_an_unknown_difference_is_a_finding(
    capsys: Capture, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kpolicy.offline.answers.cel_python.KNOWN_DIFFERENCES", ())
    code, line, _ = asked(capsys, "--cross-check", "string(true)")
    assert (code, line["value"]) == (1, "true")
    assert "known" not in line["crossCheck"]["difference"]
    path = tmp_path / "batch.jsonl"
    path.write_text('{"expr": "1 + 1"}\n{"expr": "string(true)"}\n')
    assert main(["eval", "--batch", str(path), "--cross-check"]) == 1
    agrees = [json.loads(answer)["crossCheck"]["agrees"] for answer in _lines_of(capsys)]
    assert agrees == [True, False]


def _lines_of(capsys: Capture) -> list[str]:
    return capsys.readouterr().out.splitlines()
