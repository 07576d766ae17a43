"""Text to IR: the steps of the front end, in order, and the checks of a whole expression.

Never raises on any text: what is wrong comes back as diagnostics.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from kpolicy.diagnostics import Diagnostic, Note, Severity, Span, has_errors
from kpolicy.policy.cel import cost
from kpolicy.policy.cel.check import Checker
from kpolicy.policy.cel.facts import NOW, PATHS_ONLY
from kpolicy.policy.cel.lower import DEPTH_MAX, NODES_MAX, SLOTS_MAX, BeyondLimits, lower
from kpolicy.policy.cel.parse import parse
from kpolicy.policy.cel.scope import COST_MAX, CompiledExpression, Environment, Scope
from kpolicy.policy.cel.tree import Fact, Loop, Tree, Variable, own_operands, read_of
from kpolicy.policy.cel.types import (
    BOOL,
    DYN,
    ERROR,
    NUMBERS,
    TYPE_DEPTH_MAX,
    Type,
    depth_of,
    fits,
    has_dyn,
)

# The most diagnostics of one expression. Further ones are found when these are repaired.
DIAGNOSTICS_MAX: Final = 50
# Policy variables that use one another: every level is a level of recursion on the tree.
VARIABLE_LEVELS_MAX: Final = 64
_MACRO: Final = re.compile(r"\s*\.\s*\w+")


def compile_expression(
    text: str,
    *,
    expects: Type | Iterable[Type] = (),
    environment: Environment | None = None,
    is_variable: bool = False,
) -> CompiledExpression:
    """Compiles one expression; `expects` names the types its result may have (any when empty)."""
    expected = (expects,) if isinstance(expects, Type) else tuple(expects)
    try:
        return _compiled(text, expected, environment or Environment(), is_variable=is_variable)
    except RecursionError:
        # The limits of depth leave room on the stack, unless the caller itself has used most of it.
        return CompiledExpression(text, ERROR, (_beyond("it is nested too deeply", text),))


def _beyond(message: str, text: str) -> Diagnostic:
    hint = "split it into several rules"
    return Diagnostic("KP112", Severity.ERROR, message, hint, Span(0, len(text)))


def _compiled(
    text: str, expected: tuple[Type, ...], environment: Environment, *, is_variable: bool
) -> CompiledExpression:
    syntax = parse(text)
    if isinstance(syntax, Diagnostic):
        return CompiledExpression(text, ERROR, (syntax,))
    scope = Scope(environment)
    tree = Checker(scope).check(syntax)
    too_much = ""
    if scope.variable_levels > VARIABLE_LEVELS_MAX:
        too_much = f"more than {VARIABLE_LEVELS_MAX} variables stand on each other here"
    elif depth_of(tree.type) > TYPE_DEPTH_MAX:
        too_much = f"the result is nested deeper than {TYPE_DEPTH_MAX} levels"
    if too_much:
        return CompiledExpression(text, ERROR, (_beyond(too_much, text),))
    _check_result(scope, tree, expected)
    _report_objects(scope, tree, is_variable=is_variable)
    bound = cost.of_tree(tree)
    if bound > environment.cost_max:
        _too_costly(scope, tree, bound, text)
    diagnostics = _ordered(scope.diagnostics)
    if scope.is_poisoned or has_errors(diagnostics):
        return CompiledExpression(text, tree.type, diagnostics, cost=bound)
    try:
        variables = {name: compiled.text for name, compiled in environment.variables.items()}
        ir = lower(tree, bound, text, variables)
    except BeyondLimits:
        message = (
            f"compiled it has more than {NODES_MAX:,} nodes, {DEPTH_MAX} levels or {SLOTS_MAX} "
            "variables of loops"
        )
        diagnostics = (*diagnostics, _beyond(message, text))
        return CompiledExpression(text, tree.type, diagnostics, cost=bound)
    reads = tuple((read["fact"], tuple(read["args"])) for read in ir["reads"])
    return CompiledExpression(
        text, tree.type, diagnostics, ir, reads, tree.time, bound, scope.variable_levels, tree
    )


def _ordered(diagnostics: list[Diagnostic]) -> tuple[Diagnostic, ...]:
    def place(diagnostic: Diagnostic) -> tuple[int, int, str]:
        span = diagnostic.span or Span(0, 0)
        return span.start, span.end, diagnostic.code

    return tuple(sorted(dict.fromkeys(diagnostics), key=place)[:DIAGNOSTICS_MAX])


def _check_result(scope: Scope, tree: Tree, expected: tuple[Type, ...]) -> None:
    if not expected or tree.type == ERROR:
        return
    if tree.type == DYN or has_dyn(tree.type):
        scope.warn("KP208", f"the type of the result is {tree.type}", tree.span)
    if not any(fits(tree.type, kind, {}) for kind in expected):
        wanted = " or ".join(map(str, expected))
        hint = ""
        if tree.type == BOOL and any(kind in NUMBERS for kind in expected):
            hint = "say what it is worth: `… ? 100 : 0`"
        elif tree.type in NUMBERS and BOOL in expected:
            hint = "compare it, for example `… > 0`"
        scope.report("KP203", f"the result must be {wanted}, this is {tree.type}", tree.span, hint)


def _too_costly(scope: Scope, tree: Tree, bound: int, text: str) -> None:
    if scope.environment.allow_quadratic and _has_nested_loop(tree):
        return
    worst, outer = _worst_loop(tree)
    limit = scope.environment.cost_max
    span = worst.span
    notes: tuple[Note, ...] = ()
    if isinstance(worst, Loop):
        span = _head(text, worst)
        inside = f" inside a loop over {_range(text, outer)}" if outer is not None else ""
        label = f"a loop over {_range(text, worst)} (≤ {worst.over.size.length:,}){inside}"
        notes = (Note(label, span),)
    scope.report(
        "KP401",
        f"may cost {bound:,} units, the limit is {limit:,}",
        span,
        _cheaper(limit, is_nested=outer is not None),
        notes=notes,
    )


def _cheaper(limit: int, *, is_nested: bool) -> str:
    """The hint of KP401. It says so if the policy lowered the limit itself."""
    hint = "count with a selector: `node.pods.count(selector(…))`"
    if is_nested:
        hint += "; or `limits.allowQuadratic`, and then what a node really costs is limited"
    if limit >= COST_MAX:
        return hint
    return f"{hint}; this policy lowers the limit by `limits.costPerNode`, from {COST_MAX:,}"


def _range(text: str, loop: Loop) -> str:
    span = loop.over.span
    return text[span.start : span.end]


def _head(text: str, loop: Loop) -> Span:
    """The span of the range and of the name of the macro, without the body of the loop."""
    name = _MACRO.match(text, loop.over.span.end)
    return Span(loop.span.start, name.end() if name is not None else loop.span.end)


def _worst_loop(tree: Tree) -> tuple[Tree, Loop | None]:
    """The innermost loop and the one around it, or the whole."""
    worst: tuple[Tree, Loop | None] = (tree, None)
    waiting = [worst]
    while waiting:
        node, outer = waiting.pop()
        if isinstance(node, Loop):
            worst, outer = (node, outer), node
        waiting.extend((operand, outer) for operand in own_operands(node))
    return worst


def _has_nested_loop(tree: Tree) -> bool:
    """Whether a loop contains another one, also by way of a variable."""
    waiting, seen = [(tree, False)], set()
    while waiting:
        node, is_inside = waiting.pop()
        is_loop = isinstance(node, Loop)
        if is_loop and is_inside:
            return True
        if (id(node), is_inside) in seen:
            continue
        seen.add((id(node), is_inside))
        # A variable is evaluated once, also if a loop uses it.
        below = (is_inside or is_loop) and not isinstance(node, Variable)
        waiting.extend((operand, below) for operand in node.operands)
    return False


_MEMBERS_SHOWN_MAX: Final = 4


def _report_objects(scope: Scope, tree: Tree, *, is_variable: bool) -> None:
    """Reports objects that stand where a value is wanted, such as `node.pods` by itself.

    A policy variable may hold one: its users go on from there. The values of the variables used
    here were looked at where they are defined.
    """
    # A part that is reached twice is checked once, or nested labels would take exponential time.
    waiting, seen = [tree], set()
    while waiting:
        node = waiting.pop()
        if id(node) not in seen:
            seen.add(id(node))
            held = _held(node)
            if _is_object(scope, held) and not (is_variable and node is tree):
                _report_object(scope, node, held)
            waiting.extend(own_operands(node))


def _held(tree: Tree) -> Tree:
    return _held(tree.value) if isinstance(tree, Variable) else tree


def _is_object(scope: Scope, tree: Tree) -> bool:
    read = read_of(tree)
    names = (PATHS_ONLY | scope.environment.catalogue.roots.keys()) - {NOW}
    return isinstance(read, Fact) and read.name in names


def _report_object(scope: Scope, node: Tree, held: Tree) -> None:
    described = scope.environment.catalogue.object_type(held.type)
    shown = described.shown(_MEMBERS_SHOWN_MAX) if described is not None else ""
    scope.report(
        "KP209",
        f"a {held.type} is not a value by itself",
        node.span,
        f"ask for what it holds: {shown}",
    )
