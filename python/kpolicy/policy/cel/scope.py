"""The environment of an expression, the result of compiling it, and the state in between.

A document makes one environment for each place where an expression may stand. The compiled
variables of a policy are part of the environments below them. `Scope` holds the names in force and
the diagnostics of one compilation; members and indices of what a name refers to are in `members`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import field, replace
from types import MappingProxyType
from typing import Any, Final

from kpolicy.diagnostics import Diagnostic, Hint, Note, Severity, Span, suggestion
from kpolicy.policy.cel import syntax
from kpolicy.policy.cel.facts import CATALOGUE, Catalogue, Time
from kpolicy.policy.cel.familiar_words import NAMES
from kpolicy.policy.cel.sizes import of_constant
from kpolicy.policy.cel.tree import Call, Constant, Fact, Failing, Reported, Slot, Tree, Variable
from kpolicy.policy.cel.types import (
    DYN,
    ERROR,
    TYPE,
    Type,
)
from kpolicy.quick_dataclass import dataclass

COST_MAX: Final = 10_000


@dataclass(frozen=True, slots=True)
class CompiledExpression:
    """The outcome of compiling one text.

    `ir` is there when there are no errors, here or in a variable that is used; `reads` are the
    facts it reads, as in the IR.
    """

    text: str
    type: Type
    diagnostics: tuple[Diagnostic, ...]
    ir: dict[str, Any] | None = None
    reads: tuple[tuple[str, tuple[Any, ...]], ...] = ()
    time: Time = Time.CONST
    cost: int = 0
    variable_levels: int = 0
    tree: Tree | None = field(default=None, repr=False)

    def ir_bytes(self) -> bytes:
        """The IR as canonical JSON; empty when there is none."""
        if self.ir is None:
            return b""
        text = json.dumps(self.ir, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        return text.encode("utf-8", "surrogatepass")


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of a policy. With a value it becomes a constant, without one a fact."""

    type: Type
    value: Any = None


_NOTHING: Final[Mapping[str, Any]] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Environment:
    """`roots` names the roots of the facts that the expression may read, such as `node`.

    `variables` are the policy's variables, compiled in order, each seeing the ones above it.
    `inputs` are plain typed variables without a root (`kpolicy eval --var`). `cost_max` bounds one
    evaluation.
    """

    roots: tuple[str, ...] = ("pod", "node", "cluster", "namespaceObject", "now")
    variables: Mapping[str, CompiledExpression] = field(default_factory=lambda: _NOTHING)
    params: Mapping[str, Parameter] = field(default_factory=lambda: _NOTHING)
    inputs: Mapping[str, Type] = field(default_factory=lambda: _NOTHING)
    catalogue: Catalogue = CATALOGUE
    cost_max: int = COST_MAX
    # Nested loops may exceed `cost_max` in the worst case: the engine limits the real cost.
    allow_quadratic: bool = False
    constant_patterns: bool = True
    # False: what the checker would refuse becomes an error where it is reached, as in CEL without a
    # checker. For one-off evaluation of untyped data.
    checked: bool = True
    # Whether to report `dyn` results and comparisons that never hold, as lint does.
    warnings: bool = True


# Errors of the checker that CEL without a checker would raise at run time.
_AT_RUN_TIME: Final = frozenset({"KP201", "KP202", "KP204", "KP205", "KP207"})
# Names that authors try when they want the time.
_CLOCK: Final = MappingProxyType(
    {
        **dict.fromkeys(
            ("time", "today", "date"), "`now` is the time of the decision: `now.getHours('UTC')`"
        ),
        **dict.fromkeys(
            ("age", "ageSeconds", "queuedSeconds", "creationTimestamp"),
            "`now - pod.metadata.creationTimestamp > duration('1h')` compares an age",
        ),
    }
)


def clock_hint(name: str) -> str:
    """The hint for a name that looks like a request for the time."""
    return _CLOCK.get(name, "")


def untyped(tree: Tree) -> Tree:
    """An operand of a wrong type as `dyn`, so that the engine refuses it when it is reached."""
    return Call(
        "to_dyn_any",
        (tree,),
        type=DYN,
        span=tree.span,
        time=tree.time,
        size=tree.size,
    )


@dataclass(slots=True)
class Scope:
    """`bound` are the variables of the loops and `cel.bind` around; used by one compilation."""

    environment: Environment
    diagnostics: list[Diagnostic] = field(default_factory=list)
    bound: Mapping[str, Slot | Fact] = field(default_factory=dict)
    slots_used: int = 0
    # The longest chain of policy variables that use one another, below the ones used here.
    variable_levels: int = 0
    # A policy variable is used that has errors; they are reported where it is defined.
    is_poisoned: bool = False

    def new_slot(self) -> int:
        self.slots_used += 1
        return self.slots_used - 1

    @contextmanager
    def binding(self, names: Mapping[str, Slot | Fact]) -> Iterator[None]:
        before = self.bound
        self.bound = {**before, **names}
        try:
            yield
        finally:
            self.bound = before

    def report(
        self,
        code: str,
        message: str,
        span: Span,
        hint: Hint | str | None = None,
        *,
        notes: tuple[Note, ...] = (),
        severity: Severity = Severity.ERROR,
    ) -> Tree:
        """Adds a diagnostic and returns the node that stands for the part that is wrong."""
        if severity is Severity.ERROR and not self.environment.checked and code in _AT_RUN_TIME:
            return Failing(message, type=DYN, span=span)
        advice = hint if isinstance(hint, Hint) else Hint(hint or "")
        self.diagnostics.append(
            Diagnostic(
                code, severity, message, advice.text, span, notes=notes, fix=advice.fix_at(span)
            )
        )
        return Reported(type=ERROR, span=span)

    def warn(
        self, code: str, message: str, span: Span, hint: str = "", *, notes: tuple[Note, ...] = ()
    ) -> None:
        if self.environment.warnings:
            self.report(code, message, span, hint, notes=notes, severity=Severity.WARNING)


# Names of types that are values, as in `type(x) == int`.
_TYPE_NAMES: Final = frozenset(
    {
        "bool",
        "int",
        "uint",
        "double",
        "string",
        "bytes",
        "list",
        "map",
        "type",
        "null_type",
        "optional_type",
        "google.protobuf.Timestamp",
        "google.protobuf.Duration",
        "net.IP",
        "net.CIDR",
        "kubernetes.Quantity",
        "kubernetes.Semver",
        "kubernetes.URL",
        "kubernetes.NamedFormat",
    }
)


def identifier(scope: Scope, node: syntax.Identifier) -> Tree:
    name = node.name
    if name in scope.bound and not node.absolute:
        return replace(scope.bound[name], span=node.span)
    environment = scope.environment
    if name in environment.inputs:
        return _input(scope, name, node)
    if name in environment.roots:
        root = environment.catalogue.roots[name]
        return Fact((), name=name, type=Type(root.type), span=node.span, time=root.time)
    if name in _TYPE_NAMES:
        return Constant(name, type=TYPE, span=node.span)
    return _unknown(scope, node)


def qualified(scope: Scope, node: syntax.Select) -> Tree | None:
    """The meaning of a whole dotted name: an input, a parameter, a variable, a type."""
    names, first = _dotted(node)
    if first is None or (first.name in scope.bound and not first.absolute):
        return None
    environment = scope.environment
    name = ".".join(names)
    if name in environment.inputs:
        return _input(scope, name, node)
    if name in _TYPE_NAMES:
        return Constant(name, type=TYPE, span=node.span)
    if len(names) != 2 or first.name in environment.inputs:
        return None
    if first.name == "params":
        return _parameter(scope, node)
    return _variable(scope, node) if first.name == "variables" else None


def namespaced(scope: Scope, node: syntax.Call) -> str:
    """The name of a call such as `math.ceil(…)`; empty if its receiver is a value."""
    if node.target is None:
        return ""
    names, first = _dotted(node.target)
    is_ours = first is not None and first.name not in scope.bound
    return ".".join([*names, node.name]) if is_ours else ""


def _dotted(node: syntax.Expression) -> tuple[list[str], syntax.Identifier | None]:
    """The names of `a.b.c` and its first identifier; None when it is not names all through."""
    if isinstance(node, syntax.Identifier):
        return [node.name], node
    if not isinstance(node, syntax.Select) or node.optional:
        return [], None
    names, first = _dotted(node.operand)
    return [*names, node.name], first


def _input(scope: Scope, name: str, node: syntax.Expression) -> Tree:
    return Fact((), name=name, type=scope.environment.inputs[name], span=node.span, time=Time.POD)


def _parameter(scope: Scope, node: syntax.Select) -> Tree:
    known = scope.environment.params
    found = known.get(node.name)
    if found is None:
        hint = suggestion(node.name, known)
        return scope.report("KP201", f"there is no parameter `{node.name}`", node.name_span, hint)
    name = f"params.{node.name}"
    if found.value is None:
        return Fact((), name=name, type=found.type, span=node.span, time=Time.PARAMS)
    return Constant(
        found.value, name, type=found.type, span=node.span, size=of_constant(found.value)
    )


def _variable(scope: Scope, node: syntax.Select) -> Tree:
    known = scope.environment.variables
    found = known.get(node.name)
    if found is None:
        hint = suggestion(node.name, known) or "variables see only those above them"
        return scope.report("KP201", f"there is no variable `{node.name}`", node.name_span, hint)
    if found.tree is None:
        scope.is_poisoned = True
        return Reported(type=ERROR, span=node.span)
    roots = {fact.partition(".")[0] for fact, _ in found.reads}
    environment = scope.environment
    hidden = roots & environment.catalogue.roots.keys() - set(environment.roots)
    if hidden:
        message = f"`variables.{node.name}` reads `{min(hidden)}`, which is not known here"
        here = ", ".join(f"`{root}`" for root in environment.roots)
        return scope.report("KP201", message, node.span, f"here: {here}")
    value = found.tree
    scope.variable_levels = max(scope.variable_levels, found.variable_levels + 1)
    return Variable(
        node.name,
        value,
        type=value.type,
        span=node.span,
        time=value.time,
        size=value.size,
    )


def _unknown(scope: Scope, node: syntax.Identifier) -> Tree:
    environment, name = scope.environment, node.name
    if name in ("params", "variables"):
        return scope.report(
            "KP205", f"`{name}` is not a value by itself", node.span, f"write `{name}.NAME`"
        )
    if name in environment.catalogue.roots:
        roots = ", ".join(f"`{root}`" for root in environment.roots)
        return scope.report("KP201", f"`{name}` is not known here", node.span, f"here: {roots}")
    known = [*environment.roots, *environment.inputs, *scope.bound, "params", "variables"]
    hint = NAMES.get(name) or suggestion(name, known) or clock_hint(name)
    return scope.report("KP201", f"there is nothing called `{name}`", node.span, hint)
