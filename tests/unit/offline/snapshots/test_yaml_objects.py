"""YAML as JSON: values, documents by themselves, bounds."""

from __future__ import annotations

import json
from typing import Any

import pytest
import yaml

from kpolicy.offline.snapshots import yaml_objects
from kpolicy.offline.snapshots.snapshot_problem import NOT_YAML, TOO_LARGE, Problem
from kpolicy.offline.snapshots.yaml_objects import json_documents
from kpolicy.testing import node, pod


def read(text: str) -> list[Any]:
    return [
        made if isinstance(made, Problem) else json.loads(made)
        for made in json_documents("a.yaml", text.encode())
    ]


def test_objects_come_through_as_they_were() -> None:
    items = [node("n1", taints=["a=b:NoSchedule"]), pod("p", cpu="100m", labels={"on": "yes"})]
    text = yaml.safe_dump({"kind": "List", "items": items})
    assert read(text) == [{"kind": "List", "items": items}]
    assert read(yaml.safe_dump_all(items)) == items


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("a: 2026-01-01T00:00:00Z", {"a": "2026-01-01T00:00:00Z"}),
        (
            "a: true\nb: 'true'\nc: null\nd: 0.5\ne: 1e3\nf: 1_000",
            {"a": True, "b": "true", "c": None, "d": 0.5, "e": 1000.0, "f": "1_000"},
        ),
        ("a: |\n  x\n  y\n", {"a": "x\ny\n"}),
        ("1: a\ntrue: b", {"1": "a", "true": "b"}),
        ("a: 1\na: 2", {"a": 2}),
        ("{a: [1, {b: c}]}", {"a": [1, {"b": "c"}]}),
        ("a: &x {b: 1}\nc: *x", {"a": {"b": 1}, "c": {"b": 1}}),
        ("a: &x {b: 1, d: 2}\nc: {<<: *x, d: 3}", {"a": {"b": 1, "d": 2}, "c": {"b": 1, "d": 3}}),
        (
            "a: &x {b: 1}\ne: &y {b: 2}\nc: {<<: [*x, *y]}",
            {"a": {"b": 1}, "e": {"b": 2}, "c": {"b": 1}},
        ),
        ("a: !!str 5", {"a": "5"}),
        ("\ufeffa: é", {"a": "é"}),
    ],
)
def test_values_are_those_of_the_core_schema(text: str, value: object) -> None:
    assert read(text) == [value]


def test_a_broken_document_costs_only_itself() -> None:
    text = "# cluster\n---\na: 1\n---\nb: [\n---\n\n---\nc: 3\n...\n---\n- *nobody\n"
    first, broken, third, unknown = read(text)
    assert (first, third) == ({"a": 1}, {"c": 3})
    assert (broken.code, broken.source, broken.object) == (
        NOT_YAML,
        "a.yaml",
        "document 1 (line 4)",
    )
    assert unknown.object == "document 3 (line 11)"
    assert "*nobody" in unknown.message


def test_empty_text_is_no_document() -> None:
    for text in ("", "\n\n", "# nothing\n", "---\n---\n", "%YAML 1.2\n---\n"):
        assert read(text) == [], text


def test_depth_is_bounded_before_it_costs_a_stack() -> None:
    for depth, fits in ((100, True), (201, False), (200_000, False)):
        [made] = read("[" * depth + "]" * depth)
        assert isinstance(made, list) is fits, depth
    [made] = read("".join(" " * depth + "a:\n" for depth in range(500)))
    assert made.code == NOT_YAML


def test_aliases_do_not_multiply_without_bound() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 12)]
    [made] = read("\n".join(lines))
    assert made.code == NOT_YAML
    assert "aliases" in made.message
    [made] = read("a: &x [*x]")
    assert made.code == NOT_YAML


def test_size_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(yaml_objects, "YAML_BYTES_MAX", 10)
    [made] = read("a: 12345678")
    assert made.code == TOO_LARGE
