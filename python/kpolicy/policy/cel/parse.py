"""Parses text into the syntax tree, with the parser table made of cel-python's patched grammar.

Never raises on any text: a syntax error comes back as a diagnostic.
"""

from __future__ import annotations

import re
from typing import Final

from kpolicy.diagnostics import Diagnostic, Severity, Span
from kpolicy.policy.cel.familiar_words import for_word
from kpolicy.policy.cel.reductions import SyntaxRefused, beyond_limit
from kpolicy.policy.cel.syntax import Expression
from kpolicy.policy.cel.table_parser import END, Token, UnexpectedCharacter, UnexpectedToken, parser

EXPRESSION_BYTES_MAX: Final = 10 * 1024
NESTING_MAX: Final = 64

_PART: Final = (
    r"""[rR](?:\"{3}(?:(?!\"{3})[\s\S])*\"{3}|'{3}(?:(?!'{3})[\s\S])*'{3}|"[^"\n]*"|'[^'\n]*')"""
    r"""|\"{3}(?:\\[\s\S]|(?!\"{3})[^\\])*\"{3}|'{3}(?:\\[\s\S]|(?!'{3})[^\\])*'{3}"""
    r"""|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|//[^\n]*|`[^`\n]*`|[()\[\]{}]|[A-Za-z_0-9]+|[\s\S]"""
)
_LAST_OPERATOR: Final = r"(&&|\|\||==|!=|<=|>=|in|\.\?|[-+*/%<>!?:,.(\[{])\s*\Z"
_VALUES: Final = frozenset(
    {
        "IDENT",
        "INT_LIT",
        "UINT_LIT",
        "FLOAT_LIT",
        "STRING_LIT",
        "MLSTRING_LIT",
        "BYTES_LIT",
        "NULL_LIT",
    }
)
_OPERATORS: Final = frozenset(
    {
        "PLUS",
        "SLASH",
        "STAR",
        "PERCENT",
        "LESSTHAN",
        "MORETHAN",
        "IN",
        "MINUS",
        "__ANON_0",
        "__ANON_1",
        "__ANON_2",
        "__ANON_3",
        "__ANON_4",
        "__ANON_5",
    }
)


def parse(text: str) -> Expression | Diagnostic:
    """The syntax tree, or a diagnostic of the first error."""
    refused = _beyond_limits(text)
    if refused is not None:
        return refused
    try:
        return parser().parse(text)
    except SyntaxRefused as refusal:
        return refusal.diagnostic
    except UnexpectedToken as error:
        return _unexpected_token(text, error.token, error.expected)
    except UnexpectedCharacter as error:
        return _unexpected_character(text, error.at, error.allowed)


def _beyond_limits(text: str) -> Diagnostic | None:
    """A diagnostic if the text is too long or too deep to be parsed; needs no recursion."""
    length = len(text.encode("utf-8", "surrogatepass"))
    if length > EXPRESSION_BYTES_MAX:
        return beyond_limit(
            f"the expression has {length:,} bytes, the limit is {EXPRESSION_BYTES_MAX:,}",
            Span(0, len(text)),
        )
    if sum(map(text.count, "([{")) <= NESTING_MAX:
        return None
    depth = 0
    for token in re.finditer(_PART, text):
        mark = token[0]
        if mark in "([{":
            depth += 1
            if depth > NESTING_MAX:
                return beyond_limit(
                    f"more than {NESTING_MAX} brackets are open here", Span(*token.span())
                )
        elif mark in ")]}":
            depth = max(0, depth - 1)
        elif mark in "'\"":
            # A string that is never closed: the parser gets no further, and looking for its end
            # from each of its characters would take the square of its length.
            return None
    return None


def _syntax(message: str, span: Span, hint: str = "") -> Diagnostic:
    return Diagnostic("KP110", Severity.ERROR, message, hint, span)


def _unexpected_token(text: str, token: Token, expected: set[str]) -> Diagnostic:
    start = token.start_pos
    span = Span(start, max(start + 1, token.end_pos))
    message = f"`{_short(str(token))}` is not expected here"
    if token.type == END:
        span = Span(len(text), len(text))
        operator = re.search(_LAST_OPERATOR, text) if expected & _VALUES else None
        message = (
            f"an operand is missing after `{operator[1]}`" if operator else "it ends too early"
        )
    if not text.strip():
        message = "the expression is empty"
    return _syntax(message, span, for_word(text[:start], str(token)) or _wanted(expected))


def _unexpected_character(text: str, at: int, allowed: set[str]) -> Diagnostic:
    character = text[at : at + 1]
    span = Span(at, at + 1)
    if character in "\"'":
        return _syntax(
            "the string is not closed", Span(at, len(text)), f"end it with `{character}`"
        )
    hints = {"&": "write `&&`", "|": "write `||`", "=": "write `==`"}
    return _syntax(
        f"`{_short(character)}` is not expected here", span, hints.get(character, _wanted(allowed))
    )


def _short(text: str) -> str:
    return text if len(text) <= 20 and text.isprintable() else ascii(text[:20])[1:-1] + "…"


def _wanted(expected: set[str]) -> str:
    """The expected tokens in words."""
    names: list[str] = []
    if "INT_LIT" in expected:
        names.append("a value")
    elif "IDENT" in expected:
        names.append("a name")
    marks = {
        "LPAR": "`(`",
        "RPAR": "`)`",
        "LSQB": "`[`",
        "RSQB": "`]`",
        "LBRACE": "`{`",
        "RBRACE": "`}`",
        "BANG": "`!`",
        "COLON": "`:`",
        "COMMA": "`,`",
        "DOT": "`.`",
        "QMARK": "`?`",
    }
    if expected & _OPERATORS - {"MINUS"}:
        names.append("an operator")
    elif "MINUS" in expected:
        names.append("`-`")
    names += [mark for terminal, mark in marks.items() if terminal in expected]
    if "$END" in expected:
        names.append("the end")
    if not names:
        return ""
    *first, last = names
    return f"expected {', '.join(first)} or {last}" if first else f"expected {last}"
