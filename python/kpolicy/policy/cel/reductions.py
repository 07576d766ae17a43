"""Builds the syntax tree while the parser reduces: one method for each rule of the grammar.

It refuses what the grammar alone accepts: reserved words, literals without a value, and trees that
are too deep. It runs without recursion, as the parser does.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final

from kpolicy.diagnostics import Diagnostic, Severity, Span
from kpolicy.policy.cel import literals
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
    "INT_LIT": ("int", literals.integer),
    "UINT_LIT": ("uint", literals.unsigned),
    "FLOAT_LIT": ("double", literals.double),
    "STRING_LIT": ("string", literals.string),
    "MLSTRING_LIT": ("string", literals.string),
    "BYTES_LIT": ("bytes", literals.octets),
}


class SyntaxRefused(Exception):  # noqa: N818
    """Carries a diagnostic out of the parser."""

    def __init__(self, diagnostic: Diagnostic) -> None:
        super().__init__(diagnostic.message)
        self.diagnostic = diagnostic


def beyond_limit(message: str, span: Span) -> Diagnostic:
    hint = "split it: name parts of it in `variables`"
    return Diagnostic("KP112", Severity.ERROR, message, hint, span)


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


def _binary(name: str) -> Any:
    """`addition_add : addition "+"` leaves the operand and the operator for the rule above."""

    def half(_: TreeMaker, children: list[Any]) -> tuple[Expression, str, Span]:
        return children[0], name, _span(children[1])

    return half


def _joined(_: TreeMaker, children: list[Any]) -> Expression:
    if len(children) == 1:
        return children[0]  # type: ignore[no-any-return]
    (left, name, name_span), right = children
    return _call(name, name_span, _over(left, right), left, right)


class TreeMaker:
    """The reductions. Holds no state."""

    def expr(self, children: list[Any]) -> Expression:
        if len(children) == 1:
            return children[0]  # type: ignore[no-any-return]
        condition, mark, yes, _, no = children
        return _call(CONDITIONAL, _span(mark), _over(condition, no), condition, yes, no)

    def conditionalor(self, children: list[Any]) -> Expression:
        return self._chain(OR, children)

    def conditionaland(self, children: list[Any]) -> Expression:
        return self._chain(AND, children)

    def _chain(self, name: str, children: list[Any]) -> Expression:
        if len(children) == 1:
            return children[0]  # type: ignore[no-any-return]
        left, mark, right = children
        span = _over(left, right)
        if isinstance(left, Call) and left.name == name and not _parenthesised(left):
            depth = max(left.depth, _deep(span, right))
            return replace(left, span=span, args=(*left.args, right), depth=depth)
        return _call(name, _span(mark), span, left, right)

    relation = _joined
    addition = _joined
    multiplication = _joined
    relation_lt = _binary("_<_")
    relation_le = _binary("_<=_")
    relation_gt = _binary("_>_")
    relation_ge = _binary("_>=_")
    relation_eq = _binary("_==_")
    relation_ne = _binary("_!=_")
    relation_in = _binary("_in_")
    addition_add = _binary("_+_")
    addition_sub = _binary("_-_")
    multiplication_mul = _binary("_*_")
    multiplication_div = _binary("_/_")
    multiplication_mod = _binary("_%_")

    def unary(self, children: list[Any]) -> Expression:
        if len(children) == 1:
            return children[0]  # type: ignore[no-any-return]
        (name, mark), operand = children
        return _call(name, _span(mark), _over(mark, operand), operand)

    def unary_not(self, children: list[Any]) -> tuple[str, Any]:
        return "!_", children[0]

    def unary_neg(self, children: list[Any]) -> tuple[str, Any]:
        return "-_", children[0]

    def member(self, children: list[Any]) -> Expression:
        return children[0]  # type: ignore[no-any-return]

    primary = member

    def sel(self, children: list[Any]) -> Any:
        return children[0]

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

    def fieldinits(self, children: list[Any]) -> Any:
        return children

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
        except literals.LiteralError as error:
            end = len(token) if error.end is None else error.end
            inner = Span(span.start + error.start, span.start + end)
            raise _refuse(error.code, error.message, inner) from None


def _parenthesised(node: Call) -> bool:
    """`(a || b) || c` keeps its own node: its span has the parentheses."""
    return node.span.start != node.args[0].span.start


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
