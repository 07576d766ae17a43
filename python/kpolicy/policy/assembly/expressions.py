"""The expressions of one document, compiled where they stand.

Owns which names each expression sees, what type it must have, and turning places in an expression
into places in the file. Assumes a sound model. Must not know the language itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from kpolicy.diagnostics import Diagnostic, Edit, Fix, Note, Span, has_errors
from kpolicy.policy.assembly.params import ParamValue, ParamValues
from kpolicy.policy.assembly.read_policy import Policy
from kpolicy.policy.cel import (
    CompiledExpression,
    Environment,
    Parameter,
    Type,
    compile_expression,
    parse_type,
)
from kpolicy.policy.cel.tree import Tree
from kpolicy.policy.cel.types import ERROR
from kpolicy.policy.limits import CHARACTERS_A_NODE, EXPRESSION_NODES_MAX
from kpolicy.policy.yaml.nodes import Path, Scalar, dotted, find
from kpolicy.policy.yaml.scalar_map import ScalarMap
from kpolicy.policy.yaml.source import placed


@dataclass(slots=True)
class ExpressionRoom:
    """`is_told`: somebody has said that there is no room left."""

    left: int = EXPRESSION_NODES_MAX
    is_told: bool = False

    @property
    def is_full(self) -> bool:
        return self.left <= 0

    def take(self, compiled: CompiledExpression) -> None:
        nodes = len(compiled.ir["nodes"]) if compiled.ir is not None else 0
        self.left -= max(nodes, len(compiled.text) // CHARACTERS_A_NODE)


ANY: Final[Sequence[Type]] = ()
BOOL: Final = (Type("bool"),)
NUMBER: Final = (Type("int"), Type("uint"), Type("double"))
STRING: Final = (Type("string"),)

# What there is to see before a node is chosen, at a node, and of a pod that may be evicted.
POD_ROOTS: Final = ("pod", "namespaceObject", "cluster")
NODE_ROOTS: Final = ("pod", "node", "namespaceObject", "cluster")
VICTIM_ROOTS: Final = (*NODE_ROOTS, "victim")


class Expressions:
    """Compiles every expression of a policy once; hands out IR by path."""

    def __init__(
        self,
        policy: Policy,
        lineage: tuple[Policy, ...],
        params: Mapping[str, ParamValue],
        room: ExpressionRoom,
    ) -> None:
        self.diagnostics: list[Diagnostic] = []
        self._policy = policy
        self._room = room
        self._compiled: dict[Path, CompiledExpression] = {}
        self._params = {name: _parameter(value) for name, value in params.items()}
        self._variables: dict[str, CompiledExpression] = {}
        self._inherit(lineage[1:])
        self._own_variables()
        for path, expects, roots in _places(policy):
            self._compile(path, expects, roots)
        self._unmatched = self._unmatched_ir()

    @property
    def variable_texts(self) -> dict[str, str]:
        """By name, each seeing those before it: inherited ones first."""
        return {name: one.text for name, one in self._variables.items()}

    @property
    def params(self) -> Mapping[str, Parameter]:
        return self._params

    def ir(self, path: Path) -> Any:
        """The IR of the expression at `path`; None where it could not be compiled."""
        compiled = self._compiled.get(path)
        return compiled.ir if compiled is not None else None

    def compiled(self, path: Path) -> CompiledExpression | None:
        """What became of the expression at `path`."""
        return self._compiled.get(path)

    def tree(self, path: Path) -> Tree | None:
        """The checked tree of a sound expression."""
        compiled = self._compiled.get(path)
        return compiled.tree if compiled is not None and compiled.ir is not None else None

    def said(self, path: Path, diagnostic: Diagnostic) -> Diagnostic:
        """A finding with spans in the text of the expression at `path`, placed in the file."""
        node = find(self._policy.tree, path)
        assert isinstance(node, Scalar), "what has been compiled is a scalar"
        return next(iter(self._in_file(node, path, (diagnostic,))))

    def unmatched(self) -> Any:
        """The IR of: this document's `matchConditions` do not all hold."""
        return self._unmatched

    def _unmatched_ir(self) -> Any:
        conditions = self._policy.model.spec.match_conditions
        if not conditions or self._room.is_full:
            return None
        text = " && ".join(f"({condition.expression})" for condition in conditions)
        compiled = self._compiled_in(f"!({text})", BOOL, POD_ROOTS)
        at: Path = ("spec", "matchConditions")
        own = [self._compiled.get((*at, index, "expression")) for index in range(len(conditions))]
        if compiled.ir is None and all(one is not None and one.ir is not None for one in own):
            why = compiled.diagnostics[0]
            self.diagnostics.append(
                self._policy.remark(
                    why.code,
                    f"as one expression, which others of this profile need: {why.message}",
                    at,
                    hint=why.hint,
                )
            )
        return compiled.ir

    def _compiled_in(
        self,
        text: str,
        expects: Sequence[Type],
        roots: tuple[str, ...],
        *,
        is_variable: bool = False,
    ) -> CompiledExpression:
        environment = self._environment(roots)
        compiled = compile_expression(
            text, expects=expects, environment=environment, is_variable=is_variable
        )
        self._room.take(compiled)
        return compiled

    def _no_room(self, path: Path) -> bool:
        """Whether no more is compiled; said once."""
        if self._room.is_full and not self._room.is_told:
            self._room.is_told = True
            most = f"{EXPRESSION_NODES_MAX:,} nodes"
            self.diagnostics.append(
                self._policy.remark(
                    "KP112",
                    f"compiled, the expressions up to here have more than {most}",
                    path,
                    "a rule has all of each variable that it uses: make them smaller, or fewer",
                )
            )
        return self._room.is_full

    def _inherit(self, bases: tuple[Policy, ...]) -> None:
        """Variables of what the policy extends; their findings are its own affair."""
        for base in reversed(bases):
            for variable in base.model.spec.variables:
                compiled = CompiledExpression(variable.expression, ERROR, ())
                if not self._no_room(("spec", "extends")):
                    compiled = self._compiled_in(
                        variable.expression, ANY, NODE_ROOTS, is_variable=True
                    )
                self._variables[variable.name] = compiled

    def _own_variables(self) -> None:
        """In order, each seeing those above it and those inherited."""
        first: dict[str, Path] = {}
        for index, variable in enumerate(self._policy.model.spec.variables):
            path = ("spec", "variables", index)
            if variable.name in first:
                note = Note("first here", span=self._policy.span((*first[variable.name], "name")))
                message = f"two variables are called `{variable.name}`"
                at = (*path, "name")
                self.diagnostics.append(self._policy.remark("KP104", message, at, notes=(note,)))
                continue
            first[variable.name] = path
            at = (*path, "expression")
            self._compile(at, ANY, NODE_ROOTS, is_variable=True)
            # What there was no room for is not unknown: who uses it says nothing more.
            unread = CompiledExpression(variable.expression, ERROR, ())
            self._variables[variable.name] = self._compiled.get(at, unread)

    def _environment(self, roots: tuple[str, ...]) -> Environment:
        environment = Environment(
            roots=roots, variables=dict(self._variables), params=dict(self._params)
        )
        limits = self._policy.model.spec.limits
        environment = replace(environment, allow_quadratic=limits.allow_quadratic)
        limit = limits.cost_per_node
        return environment if limit is None else replace(environment, cost_max=limit)

    def _compile(
        self,
        path: Path,
        expects: Sequence[Type],
        roots: tuple[str, ...],
        *,
        is_variable: bool = False,
    ) -> None:
        node = find(self._policy.tree, path)
        if not isinstance(node, Scalar) or self._no_room(path):
            return
        compiled = self._compiled_in(node.text, expects, roots, is_variable=is_variable)
        self._compiled[path] = compiled
        self.diagnostics += self._in_file(node, path, compiled.diagnostics)

    def _in_file(
        self, node: Scalar, path: Path, diagnostics: tuple[Diagnostic, ...]
    ) -> Iterator[Diagnostic]:
        if not diagnostics:
            return
        to_file = ScalarMap(self._policy.text.text, node)
        for diagnostic in diagnostics:
            span = to_file.span(diagnostic.span or Span(0, len(node.text)))
            notes = tuple(
                replace(note, span=to_file.span(note.span)) if note.span else note
                for note in diagnostic.notes
            )
            fix = _fix_in_file(diagnostic.fix, to_file, node)
            moved = replace(diagnostic, span=span, notes=notes, field=dotted(path), fix=fix)
            yield placed(self._policy.text, self._too_early(node, diagnostic.span, moved))

    def _too_early(self, node: Scalar, span: Span | None, said: Diagnostic) -> Diagnostic:
        """An unknown variable that is defined, but only below: that is what to tell."""
        name = node.text[span.start : span.end] if span is not None else ""
        defined = {variable.name for variable in self._policy.model.spec.variables}
        if said.code != "KP201" or name not in defined or name in self._variables:
            return said
        return replace(
            said,
            code="KP121",
            message=f"`{name}` is defined further down",
            hint="variables see only those above them",
        )


def _exact(span: Span, to_file: ScalarMap, node: Scalar) -> Span:
    """The span in the file with all of its last character, which an escape makes longer."""
    found = to_file.span(span)
    if node.style not in ("'", '"') or span.end <= span.start:
        return found
    is_last = span.end >= len(node.text)
    return Span(found.start, node.span.end - 1 if is_last else to_file.offset(span.end))


def _fix_in_file(fix: Fix | None, to_file: ScalarMap, node: Scalar) -> Fix | None:
    """The fix in the scalar's own spelling; none where a place is not known exactly."""
    if fix is None or not to_file.is_exact:
        return None
    edits = []
    for edit in fix.edits:
        text = edit.text
        if node.style == "'":
            text = text.replace("'", "''")
        elif node.style == '"':
            text = text.replace("\\", "\\\\").replace('"', '\\"')
        elif node.style == "" and (": " in text or " #" in text):
            return None
        edits.append(Edit(_exact(edit.span, to_file, node), text))
    return replace(fix, edits=tuple(edits))


def _parameter(param: ParamValue) -> Parameter:
    kind = parse_type(param.type)
    assert kind is not None, "every type of params has a CEL type"
    return Parameter(kind, param.value)


def _places(policy: Policy) -> Iterator[tuple[Path, Sequence[Type], tuple[str, ...]]]:
    """Every expression but variables: its path, its type, and what it may see."""
    spec = policy.model.spec
    for index in range(len(spec.match_conditions)):
        yield ("spec", "matchConditions", index, "expression"), BOOL, POD_ROOTS
    for side, rules, expects in (
        ("predicates", spec.predicates, BOOL),
        ("priorities", spec.priorities, NUMBER),
    ):
        for index in range(len(rules)):
            path: Path = ("spec", side, index)
            for number in range(len(rules[index].match_conditions)):
                yield (*path, "matchConditions", number, "expression"), BOOL, POD_ROOTS
            yield (*path, "expression"), expects, NODE_ROOTS
            yield (*path, "messageExpression"), STRING, NODE_ROOTS
    yield ("spec", "preemption", "victims", "expression"), BOOL, VICTIM_ROOTS


class ExpressionSets:
    """`own` are those of each policy by itself, by name."""

    def __init__(self, lineages: Mapping[str, tuple[Policy, ...]], params: ParamValues) -> None:
        self.diagnostics: list[Diagnostic] = []
        room = ExpressionRoom()
        self.own: dict[str, Expressions] = {}
        self._inherited: dict[tuple[str, str], Expressions] = {}
        values = {}
        wrong = set()
        of_heirs = _params_of_heirs(lineages.values())
        for name, line in lineages.items():
            values[name], said = params.of(line, of_heirs)
            if has_errors(tuple(said)):
                wrong.add(name)
            # What only others build on gets its values from them.
            if line[0].model.spec.profiles or not _is_extended(line[0], lineages):
                self.diagnostics += said
            self.own[name] = Expressions(line[0], line, values[name], room)
        for name, line in lineages.items():
            if name in wrong:
                continue
            for index, base in enumerate(line[1:], start=1):
                seen = {key: values[name].get(key) for key in values[base.name]}
                if seen != values[base.name]:
                    others = Expressions(base, line[index:], values[name], room)
                    self._inherited[name, base.name] = others
        for one in (*self.own.values(), *self._inherited.values()):
            self.diagnostics += one.diagnostics

    def of(self, heir: str, policy: str) -> Expressions:
        """Those of `policy` as `heir` has them, which is or extends it."""
        return self._inherited.get((heir, policy)) or self.own[policy]


def _params_of_heirs(lineages: Iterable[Sequence[Policy]]) -> dict[str, set[str]]:
    """By policy: what it and those that extend it declare, with all that these extend."""
    found: dict[str, set[str]] = {}
    for line in lineages:
        declared = {name for policy in line for name in policy.model.spec.params}
        for policy in line:
            found.setdefault(policy.name, set()).update(declared)
    return found


def _is_extended(policy: Policy, lineages: Mapping[str, Sequence[Policy]]) -> bool:
    return any(policy in line[1:] for line in lineages.values())
