"""One policy as the checks see it: its rules with their checked trees, and the place of a finding.

Expressions with errors have no checked tree and are left out.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field
from functools import cached_property

from kpolicy.diagnostics import Diagnostic, Fix, Note, Severity, Span
from kpolicy.policy.assembly.expressions import Expressions
from kpolicy.policy.assembly.read_policy import DEVICE_SCORES, Policy, condition_paths
from kpolicy.policy.cel.tree import Tree
from kpolicy.policy.codes.registry import remark
from kpolicy.policy.lint.formulas import Formulas
from kpolicy.policy.lint.lookups import Guards, Terms
from kpolicy.policy.models.scheduling_policy import Hold, Predicate, Priority, Rule, Spec
from kpolicy.policy.yaml.nodes import Path
from kpolicy.quick_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class WrittenExpression:
    """A sound expression at `path`."""

    path: Path
    tree: Tree
    text: str


@dataclass(frozen=True, slots=True)
class RuleExpression:
    """A rule that is an expression, and the conditions under which it is asked."""

    rule: Predicate | Priority
    name: str
    path: Path
    expression: WrittenExpression
    conditions: tuple[WrittenExpression, ...]
    message: WrittenExpression | None

    @property
    def scores_devices(self) -> bool:
        return self.path[:-1] == DEVICE_SCORES

    @property
    def is_predicate(self) -> bool:
        return isinstance(self.rule, Predicate)


@dataclass(frozen=True)
class WrittenPolicy:
    policy: Policy
    expressions: Expressions
    terms: Terms = field(default_factory=Terms)

    @cached_property
    def guards(self) -> Guards:
        return Guards(self.terms)

    @cached_property
    def formulas(self) -> Formulas:
        return Formulas(self.terms)

    @cached_property
    def conditions(self) -> tuple[WrittenExpression, ...]:
        """The conditions of the whole policy."""
        return self._conditions(("spec",), self.policy.model.spec)

    @cached_property
    def variables(self) -> dict[str, WrittenExpression]:
        found = {
            variable.name: self._at(("spec", "variables", index, "expression"))
            for index, variable in enumerate(self.policy.model.spec.variables)
        }
        return {name: expression for name, expression in found.items() if expression is not None}

    @cached_property
    def victims(self) -> WrittenExpression | None:
        return self._at(("spec", "preemption", "victims", "expression"))

    @cached_property
    def order(self) -> WrittenExpression | None:
        return self._at(("spec", "queue", "order", "expression"))

    @cached_property
    def holds(self) -> tuple[tuple[WrittenExpression, tuple[WrittenExpression, ...]], ...]:
        """Each with the conditions under which it is asked."""
        queue = self.policy.model.spec.queue
        found = []
        for index, hold in enumerate(queue.holds if queue is not None else ()):
            path = ("spec", "queue", "holds", index)
            written = self._at((*path, "when"))
            if written is not None:
                found.append((written, (*self.conditions, *self._conditions(path, hold))))
        return tuple(found)

    @cached_property
    def rules(self) -> tuple[RuleExpression, ...]:
        return tuple(self._rules())

    def all(self) -> Iterator[WrittenExpression]:
        yield from self.conditions
        yield from self.variables.values()
        for rule in self.rules:
            yield from self.own_conditions(rule)
            yield rule.expression
            if rule.message is not None:
                yield rule.message
        if self.victims is not None:
            yield self.victims
        yield from self._of_queue()

    def _of_queue(self) -> Iterator[WrittenExpression]:
        if self.order is not None:
            yield self.order
        queue = self.policy.model.spec.queue
        for index, hold in enumerate(queue.holds if queue is not None else ()):
            path = ("spec", "queue", "holds", index)
            found = (
                self._at((*path, "when")),
                self._at((*path, "messageExpression")),
                *map(self._at, condition_paths(path, hold)),
            )
            yield from filter(None, found)

    def own_conditions(self, rule: RuleExpression) -> tuple[WrittenExpression, ...]:
        return rule.conditions[len(self.conditions) :]

    def finding(
        self,
        at: WrittenExpression,
        code: str,
        message: str,
        span: Span,
        hint: str = "",
        *,
        notes: tuple[Note, ...] = (),
        severity: Severity | None = None,
        fix: Fix | None = None,
    ) -> Diagnostic:
        """A finding about a part of an expression, placed in its file."""
        found = remark(code, message, span, hint=hint, notes=notes, severity=severity, fix=fix)
        return self.expressions.in_file(at.path, found)

    def _at(self, path: Path) -> WrittenExpression | None:
        compiled = self.expressions.compiled(path)
        tree = self.expressions.tree(path)
        if compiled is None or tree is None:
            return None
        return WrittenExpression(path, tree, compiled.text)

    def _conditions(self, at: Path, holder: Spec | Rule | Hold) -> tuple[WrittenExpression, ...]:
        return tuple(filter(None, map(self._at, condition_paths(at, holder))))

    def _rules(self) -> Iterator[RuleExpression]:
        for path, rule in self.policy.rules():
            expression = self._at((*path, "expression"))
            if expression is not None and rule.builtin is None:
                conditions = (*self.conditions, *self._conditions(path, rule))
                message = self._at((*path, "messageExpression"))
                name = rule.name or ""
                yield RuleExpression(rule, name, path, expression, conditions, message)
