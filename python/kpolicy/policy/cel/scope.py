"""What one compilation keeps: diagnostics and the variables that loops bind."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Final

from kpolicy.diagnostics import Diagnostic, Hint, Note, Severity, Span

from .environment import Environment
from .tree import Tree
from .types import DYN, ERROR

# What is an error of the whole expression only because it is checked before it runs.
_AT_RUN_TIME: Final = frozenset({"KP201", "KP202", "KP204", "KP205", "KP207"})


# What people call the clock; no fact tells the time.
_CLOCK: Final = frozenset(
    {"now", "time", "today", "date", "age", "ageSeconds", "queuedSeconds", "creationTimestamp"}
)


def no_clock(name: str) -> str:
    """A hint for those who ask for the time."""
    return "no fact tells the time: see `kpolicy rule KP341`" if name in _CLOCK else ""


@dataclass(slots=True)
class Scope:
    """Names in force, and what was found wrong so far. Used by one compilation only."""

    environment: Environment
    diagnostics: list[Diagnostic] = field(default_factory=list)
    bound: dict[str, Tree] = field(default_factory=dict)
    slots_used: int = 0
    # Variables that stand on each other, under the one that is used.
    variable_levels: int = 0
    # Something used was broken elsewhere, and reported there.
    poisoned: bool = False

    def new_slot(self) -> int:
        self.slots_used += 1
        return self.slots_used - 1

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
        """Adds a diagnostic; gives the tree that stands for what was not understood."""
        if severity is Severity.ERROR and not self.environment.checked and code in _AT_RUN_TIME:
            return Tree("error", DYN, span, name=message)
        advice = hint if isinstance(hint, Hint) else Hint(hint or "")
        self.diagnostics.append(
            Diagnostic(
                code, severity, message, advice.text, span, notes=notes, fix=advice.fix_at(span)
            )
        )
        return Tree("constant", ERROR, span)

    def untyped(self, tree: Tree) -> Tree:
        """An operand of a wrong type, left to be refused when it is reached."""
        return replace(
            tree,
            op="call",
            type=DYN,
            args=(tree,),
            name="to_dyn_any",
            slots=(),
            optional=(),
            value=None,
            column="",
            column_entries=False,
        )

    def warn(
        self, code: str, message: str, span: Span, hint: str = "", *, notes: tuple[Note, ...] = ()
    ) -> None:
        if self.environment.warnings:
            self.report(code, message, span, hint, notes=notes, severity=Severity.WARNING)
