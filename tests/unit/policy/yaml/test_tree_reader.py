"""Reading YAML: spans, bounds, and that no input raises."""

from __future__ import annotations

import pytest
from hypothesis import given, settings, strategies as st

from kpolicy.policy.limits import DOCUMENT_BYTES_MAX, DOCUMENTS_MAX, TREE_DEPTH_MAX, TREE_NODES_MAX
from kpolicy.policy.yaml.nodes import Mapping, plain, scalars
from kpolicy.policy.yaml.source import Source
from kpolicy.policy.yaml.tree_reader import read_documents


def codes(text: str | bytes) -> list[tuple[str, int, int]]:
    """(code, line, column) of every finding."""
    read = read_documents(Source("f", text))
    found = []
    for finding in read.diagnostics:
        assert finding.span is not None
        found.append((finding.code, *read.text.line_and_column(finding.span.start)))
    return found


def test_every_key_and_scalar_has_its_exact_span() -> None:
    text = "first: one\n'second': \"two\"\nthird: [a, 'b']\n"
    root = read_documents(Source("f", text)).roots[0]
    assert isinstance(root, Mapping)
    keys = [text[entry.key.span.start : entry.key.span.end] for entry in root.entries]
    values = [text[node.span.start : node.span.end] for node in scalars(root)]
    assert keys == ["first", "'second'", "third"]
    assert values == ["one", '"two"', "a", "'b'"]


def test_spans_hold_after_wide_characters_and_a_byte_order_mark() -> None:
    text = "\ufeffä😀: é\nb: x\n"
    read = read_documents(Source("f", text.encode()))
    assert [read.text.text[o.span.start : o.span.end] for o in scalars(read.roots[0])] == ["é", "x"]


def test_a_collection_ends_where_its_text_ends() -> None:
    text = "a:\n  b: 1\n\n# comment\nc: 2\n"
    root = read_documents(Source("f", text)).roots[0]
    assert isinstance(root, Mapping)
    inner = root.get("a")
    assert inner is not None
    assert text[inner.span.start :].startswith("b: 1")
    assert read_documents(Source("f", text)).text.line_and_column(inner.span.end)[0] <= 4


def test_several_documents_are_read_and_those_before_an_error_are_kept() -> None:
    read = read_documents(Source("f", "a: 1\n---\nb: 2\n---\nc: [\n"))
    assert [plain(root) for root in read.roots] == [{"a": 1}, {"b": 2}]
    assert [finding.code for finding in read.diagnostics] == ["KP101"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a: 1\nb: 2\na: 3\n", [("KP105", 3, 1)]),
        ("a: &x 1\nb: *x\n", [("KP108", 1, 4), ("KP108", 2, 4)]),
        ("<<: {a: 1}\nb: *x\n", [("KP108", 2, 4)]),
        ("a: no\nb: 012\nc: 1:30\nd: 'no'\n", [("KP106", 1, 4), ("KP106", 2, 4), ("KP106", 3, 4)]),
        ("? [a]\n: b\n", [("KP101", 1, 3)]),
        ("a: b: c\n", [("KP101", 1, 5)]),
        ("a:\n\tb: 1\n", [("KP101", 2, 1)]),
        ("a: x\0y\n", [("KP101", 1, 5)]),
        (b"a: 1\nb: \xff\n", [("KP101", 2, 4)]),
    ],
)
def test_what_is_not_read_has_a_code_and_a_place(
    text: str | bytes, expected: list[tuple[str, int, int]]
) -> None:
    assert codes(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "[" * 100_000,
        "{a: " * (TREE_DEPTH_MAX + 1),
        "- " * 5_000,
        "--- a\n" * (DOCUMENTS_MAX + 1),
        "[" + "a," * TREE_NODES_MAX + "]",
        "a" * (DOCUMENT_BYTES_MAX + 1),
    ],
)
def test_what_is_too_large_is_refused(text: str) -> None:
    assert codes(text)[0][0] == "KP109"


def test_the_deepest_legal_document_is_read() -> None:
    read = read_documents(Source("f", "[" * TREE_DEPTH_MAX + "]" * TREE_DEPTH_MAX))
    assert read.diagnostics == ()
    assert len(read.roots) == 1


def test_numbers_and_words_are_read_by_yaml_1_2() -> None:
    text = "{a: 012, b: 0o12, c: 0x1f, d: 1.5e3, e: yes, f: ~, g: true, h: 2026-11-01, i: '1'}"
    root = read_documents(Source("f", text)).roots[0]
    assert plain(root) == {
        "a": 12,
        "b": 10,
        "c": 31,
        "d": 1500.0,
        "e": "yes",
        "f": None,
        "g": True,
        "h": "2026-11-01",
        "i": "1",
    }


def test_a_number_too_long_to_be_one_stays_text() -> None:
    root = read_documents(Source("f", "a: " + "9" * 6_000)).roots[0]
    assert plain(root) == {"a": "9" * 6_000}


HOSTILE = st.text(alphabet="[]{}:,-&*!%@`\"'|>?<#= \n\r\tab1\0\ufeff\u2028\x85\ud800", max_size=60)


@settings(max_examples=400)
@given(st.binary(max_size=80) | st.text(max_size=80) | HOSTILE)
def test_any_input_gives_documents_or_findings_with_places(text: str | bytes) -> None:
    read = read_documents(Source("f", text))
    for finding in read.diagnostics:
        assert finding.span is not None
        place = read.text.place(finding.span)
        assert 1 <= place.line <= len(read.text.line_starts)
        assert (place.line, place.column) <= (place.end_line, place.end_column)
    for root in read.roots:
        for scalar in scalars(root):
            assert 0 <= scalar.span.start <= scalar.span.end <= len(read.text.text)
