"""Offsets in the value of a scalar lead to the same characters in the file."""

from __future__ import annotations

import pytest
import yaml
from hypothesis import assume, given, settings, strategies as st

from kpolicy.diagnostics import Span
from kpolicy.policy.yaml.nodes import Scalar, scalars
from kpolicy.policy.yaml.scalar_map import ScalarMap
from kpolicy.policy.yaml.source import Source
from kpolicy.policy.yaml.tree_reader import read_documents


def mapped(text: str) -> list[tuple[Scalar, ScalarMap, str]]:
    read = read_documents(Source("f", text))
    file = read.text.text
    return [(node, ScalarMap(file, node), file) for root in read.roots for node in scalars(root)]


def check(text: str) -> int:
    """Re-slice the file at every mapped offset; how many characters were compared."""
    compared = 0
    for scalar, to_file, file in mapped(text):
        assert to_file.is_exact, scalar
        for index, character in enumerate(scalar.text):
            offset = to_file.offset(index)
            assert scalar.span.start <= offset < scalar.span.end
            if file[offset] == character:
                compared += 1
            else:
                # A fold, a line break read as one, or an escape.
                assert file[offset] in "\n\r\x85\u2028\u2029\\", (scalar, index)
        assert to_file.offset(len(scalar.text)) <= scalar.span.end
    return compared


@pytest.mark.parametrize(
    ("text", "value_at", "line", "column"),
    [
        ("e: a + b\n", 4, 1, 8),
        ("e: 'it''s'\n", 3, 1, 9),
        ('e: "a\\u0041b"\n', 2, 1, 12),
        ("e: |\n  one\n  two\n", 4, 3, 3),
        ("e: >-\n  one\n  two\n", 4, 3, 3),
        ("e: one\n  two\n", 4, 2, 3),
        ("e: |2\n    one\n  two\n", 2, 2, 5),
        ("e: |\n  a\n\n  b\n", 3, 4, 3),
    ],
)
def test_places_in_each_style(text: str, value_at: int, line: int, column: int) -> None:
    read = read_documents(Source("f", text))
    ((scalar, to_file, _),) = mapped(text)
    place = read.text.place(to_file.span(Span(value_at, value_at + 1)))
    assert (place.line, place.column) == (line, column)
    assert scalar.text[value_at].strip()


def test_a_span_over_a_fold_covers_both_lines() -> None:
    text = "e: >-\n  aaa\n  bbb\n"
    ((scalar, to_file, file),) = mapped(text)
    span = to_file.span(Span(2, 5))
    assert scalar.text[2:5] == "a b"
    assert file[span.start : span.end] == "a\n  b"


BODY = st.text(alphabet="ab '\"\\:#-\n\t>|é😀\u2028\x85\r", max_size=30)
HEADERS = st.sampled_from(["|", ">", "|-", ">-", "|+", ">+", "|2", ">2-", "|4+"])


@settings(max_examples=500)
@given(BODY, HEADERS, st.integers(1, 4))
def test_block_scalars_map_exactly(body: str, header: str, indent: int) -> None:
    padded = "".join(" " * (indent + 2) + line + "\n" for line in body.split("\n"))
    check(f"k:\n  a: {header}\n{padded}  b: 1\n")


@settings(max_examples=500)
@given(BODY, st.sampled_from(["'", '"', ""]))
def test_flow_scalars_map_exactly(body: str, quote: str) -> None:
    escaped = body.replace("'", "''") if quote == "'" else body
    check(f"a: {quote}{escaped}{quote}\n".replace("\n", "\n  "))


@settings(max_examples=300)
@given(st.text(max_size=40), st.sampled_from(["|", ">", "'", '"', None]), st.integers(10, 80))
def test_what_pyyaml_writes_maps_exactly(value: str, style: str | None, width: int) -> None:
    written = yaml.safe_dump(
        {"a": {"b": value}}, default_style=style, width=width, allow_unicode=True
    )
    read = read_documents(Source("f", written))
    assume(read.roots)
    check(written)


def test_most_characters_are_compared_with_themselves() -> None:
    assert check("a: |\n  one two\nb: >\n  three\n  four\nc: 'five six'\nd: seven\n") == 31


def test_many_blanks_take_linear_time() -> None:
    blanks = " " * 400_000
    assert check(f"a: 'x{blanks}''y'\n") > len(blanks)
