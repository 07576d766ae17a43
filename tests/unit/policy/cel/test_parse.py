"""Text to syntax tree: shape, spans, and errors that say what was expected."""

from __future__ import annotations

import pytest
from hypothesis import given, settings, strategies as st

from kpolicy.diagnostics import Diagnostic, Span
from kpolicy.policy.cel import syntax
from kpolicy.policy.cel.parse import parse

_TOKENS = [
    "a",
    ".",
    ".?",
    "[",
    "]",
    "(",
    ")",
    "{",
    "}",
    "?",
    ":",
    ",",
    "+",
    "-",
    "!",
    "&&",
    "||",
    "1",
    "'x'",
    "in",
    "<",
    "b'y'",
    "`q`",
    "//",
]


def parsed(text: str) -> syntax.Expression:
    tree = parse(text)
    assert not isinstance(tree, Diagnostic), tree
    return tree


def refused(text: str) -> Diagnostic:
    tree = parse(text)
    assert isinstance(tree, Diagnostic), tree
    return tree


def sliced(text: str, span: Span) -> str:
    return text[span.start : span.end]


def test_precedence_and_spans() -> None:
    text = "a + b * -c == d[0].e"
    tree = parsed(text)
    assert isinstance(tree, syntax.Call)
    assert tree.name == "_==_"
    assert sliced(text, tree.name_span) == "=="
    left, right = tree.args
    assert sliced(text, left.span) == "a + b * -c"
    assert isinstance(right, syntax.Select)
    assert sliced(text, right.name_span) == "e"
    assert isinstance(right.operand, syntax.Index)


def test_a_chain_is_one_node_and_parentheses_are_kept_apart() -> None:
    chain = parsed("a || b || c || d")
    assert isinstance(chain, syntax.Call)
    assert len(chain.args) == 4
    grouped = parsed("(a || b) || c")
    assert isinstance(grouped, syntax.Call)
    assert len(grouped.args) == 2
    assert grouped.args[0].span == Span(0, 8)
    long = parsed(" && ".join(["x"] * 1000))
    assert isinstance(long, syntax.Call)
    assert len(long.args) == 1000
    assert long.depth == 2


def test_booleans_have_positions() -> None:
    tree = parsed("a ? true : false")
    assert isinstance(tree, syntax.Call)
    assert [arg.span for arg in tree.args] == [Span(0, 1), Span(4, 8), Span(11, 16)]
    assert [arg.value for arg in tree.args if isinstance(arg, syntax.Literal)] == [True, False]


def test_optional_syntax_trailing_commas_and_backticks() -> None:
    tree = parsed("a.?b[?1].`c-d/e.f`")
    assert isinstance(tree, syntax.Select)
    assert (tree.name, tree.optional) == ("c-d/e.f", False)
    assert isinstance(tree.operand, syntax.Index)
    assert tree.operand.optional
    items = parsed("[?a, b,]")
    assert isinstance(items, syntax.ListLiteral)
    assert items.optional == (True, False)
    entries = parsed("{?'a': b, 'c': d,}")
    assert isinstance(entries, syntax.MapLiteral)
    assert [entry.optional for entry in entries.entries] == [True, False]


@pytest.mark.parametrize(
    ("text", "code", "message", "hint", "span"),
    [
        ("pod.priority > 5 &&", "KP110", "an operand is missing after `&&`", "a value", (19, 19)),
        ("", "KP110", "empty", "a value", (0, 0)),
        ("a = b", "KP110", "`=` is not expected", "write `==`", (2, 3)),
        ("a & b", "KP110", "`&` is not expected", "write `&&`", (2, 3)),
        ("'abc", "KP110", "not closed", "'", (0, 4)),
        ("[1, 2", "KP110", "too early", "`]`", (5, 5)),
        ("'\\q'", "KP110", "not an escape", "", (1, 3)),
        ("T{a: 1}", "KP110", "message", "map", (0, 7)),
        ("a b", "KP110", "`b` is not expected", "an operator", (2, 3)),
        ("namespace == 'x'", "KP111", "reserved", "namespaceObject", (0, 9)),
        ("a.in", "KP111", "reserved", "['in']", (2, 4)),
        ("a.true", "KP111", "reserved", "['true']", (2, 6)),
        ("99999999999999999999", "KP207", "range of int", "", (0, 20)),
        ("(" * 65, "KP112", "64 brackets", "variables", (64, 65)),
        ("!" * 97 + "a", "KP112", "96 operators", "variables", (1, 98)),
        ("a" * 10_241, "KP112", "10,241 bytes", "variables", (0, 10_241)),
    ],
)
def test_errors_say_what_and_where(
    text: str, code: str, message: str, hint: str, span: tuple[int, int]
) -> None:
    diagnostic = refused(text)
    assert diagnostic.code == code
    assert message in diagnostic.message
    assert hint in diagnostic.hint
    assert diagnostic.span == Span(*span)


@settings(max_examples=300)
@given(st.text(max_size=40))
def test_any_text_gives_a_tree_or_a_diagnostic(text: str) -> None:
    result = parse(text)
    span = result.span
    assert span is not None
    assert 0 <= span.start <= span.end <= len(text)


@settings(max_examples=300)
@given(st.lists(st.sampled_from(_TOKENS)))
def test_any_tokens_give_a_tree_or_a_diagnostic(tokens: list[str]) -> None:
    text = " ".join(tokens)
    span = parse(text).span
    assert span is not None
    assert 0 <= span.start <= span.end <= len(text)


@pytest.mark.parametrize("text", ['"' + "\\a" * 5000, "'''" + "\\x41" * 2500, "'" * 10_000])
def test_open_strings_take_no_exponential_time(text: str) -> None:
    assert refused(text).code == "KP110"
