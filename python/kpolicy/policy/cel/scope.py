"""The state of one compilation: the names in force and the diagnostics so far."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final

from kpolicy.diagnostics import Diagnostic, Hint, Note, Severity, Span

from .environment import Environment
from .tree import Call, Fact, Failing, Reported, Slot, Tree
from .types import DYN, ERROR

# Errors of the checker that CEL without a checker would raise at run time.
_AT_RUN_TIME: Final = frozenset({"KP201", "KP202", "KP204", "KP205", "KP207"})
# Names under which people look for the clock; no fact tells the time.
_CLOCK: Final = frozenset(
    {"now", "time", "today", "date", "age", "ageSeconds", "queuedSeconds", "creationTimestamp"}
)


def no_clock(name: str) -> str:
    """A hint for those who ask for the time."""
    return "no fact tells the time: see `kpolicy rule KP341`" if name in _CLOCK else ""


def untyped(tree: Tree) -> Tree:
    """An operand of a wrong type as `dyn`, so that the engine refuses it when it is reached."""
    return Call(
        "to_dyn_any",
        (tree,),
        type=DYN,
        span=tree.span,
        time=tree.time,
        size=tree.size,
        cost=tree.cost,
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
