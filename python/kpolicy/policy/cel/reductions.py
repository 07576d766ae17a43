"""Builds the syntax tree while the parser reduces: a method for each rule of the grammar.

Decodes literals, and refuses what the grammar alone accepts: reserved words, literals without a
value, and trees that are too deep. It runs without recursion, as the parser does.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final

from kpolicy.diagnostics import Diagnostic, Severity, Span
from kpolicy.policy.cel.syntax import (
    AND,
    CONDITIONAL,
    OR,
    Call,
    Entry,
    Expression,
    Identifier,
    Index,
    ListLiteral,
    Literal,
    MapLiteral,
    Select,
)
from kpolicy.policy.cel.types import INT_MAX, INT_MIN, UINT_MAX

_FIGURES_MAX: Final = 400
_ESCAPES: Final = {
    "a": "\a",
    "b": "\b",
    "f": "\f",
    "n": "\n",
    "r": "\r",
    "t": "\t",
    "v": "\v",
    "\\": "\\",
    "'": "'",
    '"': '"',
    "?": "?",
    "`": "`",
}
# An escape, or a text without any.
_PIECE: Final = (
    r"\\(?:(?P<octal>[0-3][0-7]{2})|[xX](?P<byte>[0-9a-fA-F]{2})|u(?P<short>[0-9a-fA-F]{4})"
    r"|U(?P<long>[0-9a-fA-F]{8})|(?P<character>[\s\S])|$)|[^\\]+"
)


class LiteralError(Exception):
    """A literal has no value: code, message, and the place of the error within the token."""

    def __init__(self, code: str, message: str, start: int = 0, end: int | None = None) -> None:
        super().__init__(message)
        self.code, self.message, self.start, self.end = code, message, start, end


def integer(token: str) -> int:
    return _bounded(token, INT_MIN, INT_MAX, "int")


def unsigned(token: str) -> int:
    return _bounded(token[:-1], 0, UINT_MAX, "uint")


def _bounded(token: str, low: int, high: int, kind: str) -> int:
    digits = token.lower()
    if len(digits) > _FIGURES_MAX:
        raise LiteralError("KP207", f"the number is outside the range of {kind}")
    value = int(digits, 16 if "0x" in digits else 10)
    if not low <= value <= high:
        raise LiteralError("KP207", f"{token} is outside the range of {kind}: {low} to {high}")
    return value


def double(token: str) -> float:
    value = float(token)
    if math.isinf(value):
        raise LiteralError("KP207", f"{token[:40]} is outside the range of double")
    return value


def string(token: str) -> str:
    body, at = _body(token, 0)
    if token[0] in "rR" or "\\" not in body:
        return body
    return "".join(_text(piece, at) for piece in re.finditer(_PIECE, body))


def octets(token: str) -> bytes:
    """`b'…'`: escapes by number are bytes, other characters their UTF-8."""
    body, at = _body(token, 1)
    if token[1] in "rR":
        return body.encode("utf-8", "surrogatepass")
    return b"".join(_bytes(piece, at) for piece in re.finditer(_PIECE, body))


def _body(token: str, start: int) -> tuple[str, int]:
    """The text between the quotes, and its offset."""
    start += token[start] in "rR"
    quote = 3 if token[start : start + 3] in ('"""', "'''") and len(token) >= start + 6 else 1
    return token[start + quote : -quote], start + quote


def _text(piece: re.Match[str], at: int) -> str:
    code = _code(piece)
    if code is None:
        return _unescaped(piece, at)
    if code > 0x10FFFF or 0xD800 <= code <= 0xDFFF:
        raise _bad_escape(piece, at, "a Unicode character")
    return chr(code)


def _bytes(piece: re.Match[str], at: int) -> bytes:
    if piece["short"] or piece["long"]:
        raise _bad_escape(piece, at)
    code = _code(piece)
    text = _unescaped(piece, at) if code is None else ""
    return text.encode("utf-8", "surrogatepass") if code is None else bytes([code])


def _code(piece: re.Match[str]) -> int | None:
    """The number of an escape by number."""
    digits = piece["byte"] or piece["short"] or piece["long"]
    return int(digits, 16) if digits else int(piece["octal"], 8) if piece["octal"] else None


def _unescaped(piece: re.Match[str], at: int) -> str:
    if not piece[0].startswith("\\"):
        return piece[0]
    if piece["character"] not in _ESCAPES:
        raise _bad_escape(piece, at)
    return _ESCAPES[piece["character"]]


def _bad_escape(piece: re.Match[str], at: int, what: str = "an escape") -> LiteralError:
    return LiteralError(
        "KP110", f"`{piece[0]}` is not {what}", at + piece.start(), at + piece.end()
    )


# The depth of the tree also counts operators: `1+1+1` is deeper than `1+1`.
TREE_DEPTH_MAX: Final = 96
RESERVED: Final = frozenset(
    {
        "as",
        "break",
        "const",
        "continue",
        "else",
        "for",
        "function",
        "if",
        "import",
        "let",
        "loop",
        "package",
        "namespace",
        "return",
        "var",
        "void",
        "while",
    }
)
_KEYWORDS: Final = frozenset({"true", "false", "null", "in"})
_DECODERS: Final[dict[str, tuple[str, Callable[[str], int | float | str | bytes]]]] = {
    "INT_LIT": ("int", integer),
    "UINT_LIT": ("uint", unsigned),
    "FLOAT_LIT": ("double", double),
    "STRING_LIT": ("string", string),
    "MLSTRING_LIT": ("string", string),
    "BYTES_LIT": ("bytes", octets),
}


class SyntaxRefused(Exception):  # noqa: N818
    """Carries a diagnostic out of the parser."""

    def __init__(self, diagnostic: Diagnostic) -> None:
        super().__init__(diagnostic.message)
        self.diagnostic = diagnostic


def beyond_limit(message: str, span: Span) -> Diagnostic:
    return Diagnostic(
        "KP112", Severity.ERROR, message, "split it: name parts of it in `variables`", span
    )


def _refuse(code: str, message: str, span: Span, hint: str = "") -> SyntaxRefused:
    return SyntaxRefused(Diagnostic(code, Severity.ERROR, message, hint, span))


def _span(token: Any) -> Span:
    return Span(token.start_pos, token.end_pos)


def _over(first: Any, last: Any) -> Span:
    start = first.span.start if hasattr(first, "span") else first.start_pos
    end = last.span.end if hasattr(last, "span") else last.end_pos
    return Span(start, end)


def _deep(span: Span, *children: Expression) -> int:
    depth = 1 + max((child.depth for child in children), default=0)
    if depth > TREE_DEPTH_MAX:
        message = f"more than {TREE_DEPTH_MAX} operators are nested here"
        raise SyntaxRefused(beyond_limit(message, span))
    return depth


def _call(name: str, name_span: Span, span: Span, *args: Expression) -> Call:
    return Call(span, name, name_span, None, args, _deep(span, *args))


# The rules of an operator with its left operand, if it has one, and the function that is called.
_OPERATORS: Final = {
    "relation_lt": "_<_",
    "relation_le": "_<=_",
    "relation_gt": "_>_",
    "relation_ge": "_>=_",
    "relation_eq": "_==_",
    "relation_ne": "_!=_",
    "relation_in": "_in_",
    "addition_add": "_+_",
    "addition_sub": "_-_",
    "multiplication_mul": "_*_",
    "multiplication_div": "_/_",
    "multiplication_mod": "_%_",
    "unary_not": "!_",
    "unary_neg": "-_",
}


class TreeMaker:
    """A method for each rule of the grammar. lark itself drops nodes with a single child."""

    def expr(self, children: list[Any]) -> Expression:
        condition, mark, yes, _, no = children
        return _call(CONDITIONAL, _span(mark), _over(condition, no), condition, yes, no)

    def conditionalor(self, children: list[Any]) -> Expression:
        return self._chain(OR, children)

    def conditionaland(self, children: list[Any]) -> Expression:
        return self._chain(AND, children)

    def _chain(self, name: str, children: list[Any]) -> Expression:
        left, mark, right = children
        span = _over(left, right)
        # `(a || b) || c` keeps its own node: the span of `left` has the parentheses.
        if (
            isinstance(left, Call)
            and left.name == name
            and left.span.start == left.args[0].span.start
        ):
            depth = max(left.depth, _deep(span, right))
            return replace(left, span=span, args=(*left.args, right), depth=depth)
        return _call(name, _span(mark), span, left, right)

    def relation(self, children: list[Any]) -> Expression:
        operator, operand = children
        *left, mark = operator.children
        span = _over(operator.children[0], operand)
        return _call(_OPERATORS[operator.data], _span(mark), span, *left, operand)

    addition = multiplication = unary = relation

    def member_dot(self, children: list[Any]) -> Expression:
        operand, mark, name = children
        span = _over(operand, name)
        optional = str(mark) == ".?"
        return Select(span, operand, _selector(name), _span(name), optional, _deep(span, operand))

    member_opt_dot = member_dot

    def member_dot_arg(self, children: list[Any]) -> Expression:
        target, _, name, _, *inner, close = children
        args = inner[0] if inner else ()
        span = _over(target, close)
        return Call(span, _selector(name), _span(name), target, args, _deep(span, target, *args))

    def member_index(self, children: list[Any]) -> Expression:
        operand, index, close = children[0], children[-2], children[-1]
        span = _over(operand, close)
        return Index(span, operand, index, len(children) == 5, _deep(span, operand, index))

    member_opt_index = member_index

    def member_object(self, children: list[Any]) -> Expression:
        raise _refuse(
            "KP110",
            "a type with fields in braces makes a message, which expressions do not have",
            _over(children[0], children[-1]),
            "write a map: `{'key': value}`",
        )

    def ident(self, children: list[Any]) -> Expression:
        (token,) = children
        name = str(token)
        if name in ("true", "false"):
            return Literal(_span(token), "bool", name == "true")
        return Identifier(_span(token), _named(token))

    def dot_ident(self, children: list[Any]) -> Expression:
        dot, token = children
        return Identifier(_over(dot, token), _named(token), absolute=True)

    def ident_arg(self, children: list[Any]) -> Expression:
        name, _, *inner, close = children
        args = inner[0] if inner else ()
        span = _over(name, close)
        return Call(span, _named(name), _span(name), None, args, _deep(span, *args))

    def dot_ident_arg(self, children: list[Any]) -> Expression:
        return self.ident_arg(children[1:])

    def paren_expr(self, children: list[Any]) -> Expression:
        opening, inner, close = children
        widened: Expression = replace(inner, span=_over(opening, close))
        return widened

    def exprlist(self, children: list[Any]) -> tuple[Expression, ...]:
        return tuple(children[::2])

    def listitem(self, children: list[Any]) -> tuple[Expression, bool]:
        return children[-1], len(children) == 2

    def listinits(self, children: list[Any]) -> list[tuple[Expression, bool]]:
        return [child for child in children if isinstance(child, tuple)]

    def list_lit(self, children: list[Any]) -> Expression:
        items = children[1] if len(children) == 3 else []
        span = _over(children[0], children[-1])
        nodes = tuple(item for item, _ in items)
        return ListLiteral(span, nodes, tuple(flag for _, flag in items), _deep(span, *nodes))

    def mapitem(self, children: list[Any]) -> Entry:
        return Entry(children[-3], children[-1], len(children) == 4)

    def mapinits(self, children: list[Any]) -> list[Entry]:
        return [child for child in children if isinstance(child, Entry)]

    def map_lit(self, children: list[Any]) -> Expression:
        entries: list[Entry] = children[1] if len(children) == 3 else []
        span = _over(children[0], children[-1])
        nodes = [node for entry in entries for node in (entry.key, entry.value)]
        return MapLiteral(span, tuple(entries), _deep(span, *nodes))

    def literal(self, children: list[Any]) -> Expression:
        (token,) = children
        span = _span(token)
        if token.type == "NULL_LIT":
            return Literal(span, "null", None)
        kind, decode = _DECODERS[token.type]
        try:
            return Literal(span, kind, decode(str(token)))
        except LiteralError as error:
            end = len(token) if error.end is None else error.end
            inner = Span(span.start + error.start, span.start + end)
            raise _refuse(error.code, error.message, inner) from None


def _named(token: Any) -> str:
    name = str(token)
    if name in RESERVED or name in _KEYWORDS:
        hint = "use `namespaceObject`, or the field `pod.namespace`" if name == "namespace" else ""
        raise _refuse("KP111", f"`{name}` is a reserved word of CEL", _span(token), hint)
    return name


def _selector(token: Any) -> str:
    name = str(token)
    if name.startswith("`"):
        return name[1:-1]
    if name in _KEYWORDS:
        hint = f"write `['{name}']`, or the name in backticks"
        raise _refuse("KP111", f"`{name}` is a reserved word of CEL", _span(token), hint)
    return name
