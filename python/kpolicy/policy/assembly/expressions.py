"""The expressions of policies, compiled where they are written.

`Expressions` are those of one document; `ExpressionSets` those of all documents, also with the
params of the policies that stand on them. Findings are placed in the file of the expression.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from kpolicy.diagnostics import Diagnostic, Edit, Fix, Note, Severity, Span, has_errors
from kpolicy.policy.assembly.params import ParamValues
from kpolicy.policy.assembly.read_policy import DEVICE_SCORES, Policy, condition_paths
from kpolicy.policy.cel import (
    CompiledExpression,
    Environment,
    Parameter,
    Type,
    compile_expression,
)
from kpolicy.policy.cel.tree import Tree
from kpolicy.policy.cel.types import ERROR
from kpolicy.policy.limits import CHARACTERS_A_NODE, COST_PER_NODE_MAX, EXPRESSION_NODES_MAX
from kpolicy.policy.models.scheduling_policy import Predicate
from kpolicy.policy.yaml.nodes import Path, Scalar, dotted, find
from kpolicy.policy.yaml.scalar_map import ScalarMap
from kpolicy.policy.yaml.source import placed
from kpolicy.quick_dataclass import dataclass


@dataclass(slots=True)
class ExpressionRoom:
    """How many IR nodes all expressions of a compilation may still have.

    A small policy can have a large program: each rule contains the variables that it uses, and a
    policy has the rules of its bases again.
    """

    most: int
    left: int
    is_reported: bool = False

    @property
    def is_full(self) -> bool:
        return self.left <= 0

    def take(self, compiled: CompiledExpression) -> None:
        nodes, texts = 0, [compiled.text]
        if compiled.ir is not None:
            nodes, texts = len(compiled.ir["nodes"]), compiled.ir["sources"].values()
        self.left -= max(nodes, sum(map(len, texts)) // CHARACTERS_A_NODE)


ANY: Final[Sequence[Type]] = ()
BOOL: Final = (Type("bool"),)
NUMBER: Final = (Type("int"), Type("uint"), Type("double"))
STRING: Final = (Type("string"),)

# The names that an expression sees: about a pod, a pod and a node, or a possible victim.
POD_ROOTS: Final = ("pod", "namespaceObject", "cluster", "now")
NODE_ROOTS: Final = ("pod", "node", "namespaceObject", "cluster", "now")
# CEL has an answer, so that `kpolicy eval` warns; in a policy it is a mistake.
_ERRORS_IN_POLICIES: Final = frozenset({"KP206"})
VICTIM_ROOTS: Final = (*NODE_ROOTS, "victim")
# About a pod in the queue, for which no node is looked at.
QUEUE_ROOTS: Final = (*POD_ROOTS, "tenant", "queue")
# An allocation is judged by itself, whichever of the nodes that are alike gives it.
ALLOCATION_ROOTS: Final = ("pod", "namespaceObject", "now", "allocation")


class Expressions:
    """Compiles every expression of a policy once and keeps the result by path."""

    def __init__(
        self,
        policy: Policy,
        lineage: tuple[Policy, ...],
        params: Mapping[str, Parameter],
        room: ExpressionRoom,
    ) -> None:
        self.diagnostics: list[Diagnostic] = []
        self._policy = policy
        self._room = room
        self._compiled: dict[Path, CompiledExpression] = {}
        self.params = params
        self._variables: dict[str, CompiledExpression] = {}
        self._inherit(lineage[1:])
        self._own_variables()
        for path, expects, roots in _places(policy):
            self._compile(path, expects, roots)
        # The IR of "not all `matchConditions` of this document hold".
        self.unmatched = self._unmatched_ir()

    @property
    def variable_texts(self) -> dict[str, str]:
        """Texts of variables by name, inherited ones first: a variable can use those before it."""
        return {name: compiled.text for name, compiled in self._variables.items()}

    def compiled(self, path: Path) -> CompiledExpression | None:
        return self._compiled.get(path)

    def ir(self, path: Path) -> Any:
        """The IR of the expression at `path`; None if it could not be compiled."""
        compiled = self._compiled.get(path)
        return compiled.ir if compiled is not None else None

    def tree(self, path: Path) -> Tree | None:
        """The checked tree of the expression at `path`; None if it could not be compiled."""
        compiled = self._compiled.get(path)
        return compiled.tree if compiled is not None and compiled.ir is not None else None

    def in_file(self, path: Path, diagnostic: Diagnostic) -> Diagnostic:
        """A finding with spans in the text of the expression at `path`, placed in the file."""
        node = find(self._policy.tree, path)
        assert isinstance(node, Scalar), "every compiled expression is a scalar"
        return next(self._placed(node, path, (diagnostic,)))

    def _unmatched_ir(self) -> Any:
        conditions = self._policy.model.spec.match_conditions
        if not conditions or self._room.is_full:
            return None
        text = " && ".join(f"({condition.expression})" for condition in conditions)
        compiled = self._compiled_in(f"!({text})", BOOL, POD_ROOTS)
        paths = condition_paths(("spec",), self._policy.model.spec)
        if compiled.ir is None and all(self.ir(path) is not None for path in paths):
            first = compiled.diagnostics[0]
            message = f"as one expression, which others of this profile need: {first.message}"
            self._report(first.code, message, ("spec", "matchConditions"), first.hint)
        return compiled.ir

    def _report(self, code: str, message: str, path: Path, hint: str = "") -> None:
        self.diagnostics.append(self._policy.remark(code, message, path, hint))

    def _compiled_in(
        self,
        text: str,
        expects: Sequence[Type],
        roots: tuple[str, ...],
        *,
        is_variable: bool = False,
    ) -> CompiledExpression:
        limits = self._policy.model.spec.limits
        environment = Environment(
            roots=roots,
            variables=dict(self._variables),
            params=self.params,
            cost_max=limits.cost_per_node or COST_PER_NODE_MAX,
            allow_quadratic=limits.allow_quadratic,
        )
        compiled = compile_expression(
            text, expects=expects, environment=environment, is_variable=is_variable
        )
        self._room.take(compiled)
        return compiled

    def _has_no_room(self, path: Path) -> bool:
        """Whether there is no room for more expressions; the first one without room is reported."""
        if self._room.is_full and not self._room.is_reported:
            self._room.is_reported = True
            most = f"{self._room.most:,} nodes"
            message = f"compiled, the expressions up to here have more than {most}"
            hint = "a rule has all of each variable that it uses: make them smaller, or fewer"
            self._report("KP112", message, path, hint)
        return self._room.is_full

    def _inherit(self, bases: tuple[Policy, ...]) -> None:
        """Variables of the bases of this policy; their findings are reported there."""
        for base in reversed(bases):
            for variable in base.model.spec.variables:
                compiled = CompiledExpression(variable.expression, ERROR, ())
                if not self._has_no_room(("spec", "base")):
                    compiled = self._compiled_in(
                        variable.expression, ANY, NODE_ROOTS, is_variable=True
                    )
                self._variables[variable.name] = compiled

    def _own_variables(self) -> None:
        """Compiles variables in order: a variable can use those above it and the inherited ones."""
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
            # A variable for which there was no room is defined, so that its uses are not reported.
            skipped = CompiledExpression(variable.expression, ERROR, ())
            self._variables[variable.name] = self._compiled.get(at, skipped)

    def _compile(
        self,
        path: Path,
        expects: Sequence[Type],
        roots: tuple[str, ...],
        *,
        is_variable: bool = False,
    ) -> None:
        node = find(self._policy.tree, path)
        if not isinstance(node, Scalar) or self._has_no_room(path):
            return
        compiled = self._compiled_in(node.text, expects, roots, is_variable=is_variable)
        self._compiled[path] = compiled
        self.diagnostics += self._placed(node, path, compiled.diagnostics)

    def _placed(
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
            moved = replace(
                diagnostic,
                span=span,
                notes=notes,
                field=dotted(path),
                fix=_fix_in_file(diagnostic.fix, to_file, node),
            )
            found = self._too_early(node, diagnostic.span, moved)
            if found.code in _ERRORS_IN_POLICIES:
                found = replace(found, severity=Severity.ERROR)
            yield placed(self._policy.text, found)

    def _too_early(self, node: Scalar, span: Span | None, finding: Diagnostic) -> Diagnostic:
        """An unknown variable that is defined further down is a finding of its own."""
        name = node.text[span.start : span.end] if span is not None else ""
        defined = {variable.name for variable in self._policy.model.spec.variables}
        if finding.code != "KP201" or name not in defined or name in self._variables:
            return finding
        return replace(
            finding,
            code="KP121",
            message=f"`{name}` is defined further down",
            hint="variables see only those above them",
        )


def _exact(span: Span, to_file: ScalarMap, node: Scalar) -> Span:
    """The span in the file, with the whole escape sequence of its last character."""
    found = to_file.span(span)
    if node.style not in ("'", '"') or span.end <= span.start:
        return found
    is_last = span.end >= len(node.text)
    return Span(found.start, node.span.end - 1 if is_last else to_file.offset(span.end))


def _fix_in_file(fix: Fix | None, to_file: ScalarMap, node: Scalar) -> Fix | None:
    """The fix in the quotes of the scalar; None if a place is not known exactly."""
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


def _places(policy: Policy) -> Iterator[tuple[Path, Sequence[Type], tuple[str, ...]]]:
    """Every expression except variables: its path, its type, and the names it may see."""
    for condition in condition_paths(("spec",), policy.model.spec):
        yield condition, BOOL, POD_ROOTS
    for path, rule in policy.rules():
        for condition in condition_paths(path, rule):
            yield condition, BOOL, POD_ROOTS
        expects = BOOL if isinstance(rule, Predicate) else NUMBER
        roots = ALLOCATION_ROOTS if path[:-1] == DEVICE_SCORES else NODE_ROOTS
        yield (*path, "expression"), expects, roots
        yield (*path, "messageExpression"), STRING, NODE_ROOTS
    yield ("spec", "preemption", "victims", "expression"), BOOL, VICTIM_ROOTS
    queue = policy.model.spec.queue
    if queue is not None:
        yield ("spec", "queue", "order", "expression"), NUMBER, QUEUE_ROOTS
        for index, hold in enumerate(queue.holds):
            path = ("spec", "queue", "holds", index)
            for condition in condition_paths(path, hold):
                yield condition, BOOL, POD_ROOTS
            yield (*path, "when"), BOOL, QUEUE_ROOTS
            yield (*path, "messageExpression"), STRING, QUEUE_ROOTS


class ExpressionSets:
    """`own`: the expressions of each policy by itself, by name. A policy that sets a param of its
    base to another value has the rules of the base compiled again with that value."""

    def __init__(
        self,
        lineages: Mapping[str, tuple[Policy, ...]],
        params: ParamValues,
        nodes_max: int = EXPRESSION_NODES_MAX,
    ) -> None:
        self.diagnostics: list[Diagnostic] = []
        room = ExpressionRoom(nodes_max, nodes_max)
        self.own: dict[str, Expressions] = {}
        self._inherited: dict[tuple[str, str], Expressions] = {}
        values, wrong = {}, set()
        of_heirs = _params_of_heirs(lineages.values())
        extended = {policy.name for line in lineages.values() for policy in line[1:]}
        for name, line in lineages.items():
            values[name], findings = params.of(line, of_heirs)
            if has_errors(findings):
                wrong.add(name)
            # If others stand on a policy without profiles, its params get their values from those.
            if line[0].model.spec.profiles or name not in extended:
                self.diagnostics += findings
            self.own[name] = Expressions(line[0], line, values[name], room)
        for name, line in lineages.items():
            if name in wrong:
                continue
            for index, base in enumerate(line[1:], start=1):
                seen = {key: values[name].get(key) for key in values[base.name]}
                if seen != values[base.name]:
                    again = Expressions(base, line[index:], values[name], room)
                    self._inherited[name, base.name] = again
        for expressions in (*self.own.values(), *self._inherited.values()):
            self.diagnostics += expressions.diagnostics

    def of(self, heir: str, policy: str) -> Expressions:
        """The expressions of `policy` with the params of `heir`, which is it or stands on it."""
        return self._inherited.get((heir, policy)) or self.own[policy]


def _params_of_heirs(lineages: Iterable[Sequence[Policy]]) -> dict[str, set[str]]:
    """By policy: the params that it and those that stand on it declare, inherited ones included."""
    found: dict[str, set[str]] = {}
    for line in lineages:
        declared = {name for policy in line for name in policy.model.spec.params}
        for policy in line:
            found.setdefault(policy.name, set()).update(declared)
    return found
