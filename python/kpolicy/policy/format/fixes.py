"""Applies the fixes of findings to texts (`kpolicy lint --fix`).

A policy that compiled keeps its meaning, and one that did not gets fewer errors. Otherwise the fix
is not applied. Fixes that write what a document meant before a change of kpolicy come first; they
must only leave it compiling.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

from kpolicy.diagnostics import Diagnostic, Edit
from kpolicy.policy.compile import Compiled
from kpolicy.policy.yaml.source import Source

# A fix may uncover another finding; more rounds than this mean that fixes undo each other.
ROUNDS_MAX: Final = 10
_SYNTAX_CODES: Final = ("KP101", "KP105", "KP110")

Compile = Callable[[Sequence[Source]], Compiled]


@dataclass(frozen=True, slots=True)
class Fixed:
    """The sources after the fixes, the findings that were fixed, and the result of compiling."""

    sources: tuple[Source, ...]
    findings: tuple[Diagnostic, ...]
    compiled: Compiled


def fixed(
    sources: Sequence[Source],
    compile_sources: Compile,
    *,
    is_unsafe: bool = False,
    is_chosen: Callable[[str], bool] = lambda _: True,
) -> Fixed:
    """Applies the fixes of chosen findings, again and again until none is left."""
    now, compiled = tuple(sources), compile_sources(sources)
    done: list[Diagnostic] = []
    for _ in range(ROUNDS_MAX):
        wanted = [
            finding
            for finding in compiled.diagnostics
            if finding.fix is not None
            and (finding.fix.is_safe or is_unsafe)
            and is_chosen(finding.code)
        ]
        restoring = [f for f in wanted if f.fix is not None and not f.fix.keeps_program]
        wanted, is_same = restoring or wanted, not restoring
        improves = partial(_improves, compile_sources, now, compiled, is_same)
        applied, after = _applied(now, _harmless([], _applied(now, wanted)[0], improves))
        if not applied:
            break
        now, compiled = after, compile_sources(after)
        done += applied
    return Fixed(now, tuple(done), compiled)


def _harmless(
    kept: list[Diagnostic],
    findings: Sequence[Diagnostic],
    improves: Callable[[Sequence[Diagnostic]], bool],
) -> list[Diagnostic]:
    """Adds the findings whose fixes make nothing worse. A group is halved until the harmful fixes
    are found, so that few of them take few compilations."""
    together = [*kept, *findings]
    if not findings or improves(together):
        return together
    if len(findings) == 1:
        return kept
    middle = len(findings) // 2
    first = _harmless(kept, findings[:middle], improves)
    return _harmless(first, findings[middle:], improves)


def _improves(
    compile_sources: Compile,
    sources: tuple[Source, ...],
    compiled: Compiled,
    is_same: bool,
    findings: Sequence[Diagnostic],
) -> bool:
    applied, after = _applied(sources, findings)
    return _is_better(compiled, compile_sources(after), len(applied), is_same=is_same)


def _is_better(before: Compiled, after: Compiled, count: int, *, is_same: bool) -> bool:
    """Whether there still is a program, with `is_same` an equal one, if there was one before;
    otherwise whether the errors are no more than before."""
    if before.program is not None:
        if after.program is None:
            return False
        return not is_same or after.program.hash == before.program.hash
    errors, left = ([d for d in c.diagnostics if d.is_error] for c in (before, after))
    syntax, syntax_left = (sum(d.code in _SYNTAX_CODES for d in c) for c in (errors, left))
    # A fixed error may have hidden others; each fix uncovers one at most.
    return bool(errors) and len(left) - len(errors) < count and syntax_left <= syntax


def _applied(
    sources: Sequence[Source], findings: Sequence[Diagnostic]
) -> tuple[list[Diagnostic], tuple[Source, ...]]:
    """The findings whose edits do not overlap with earlier ones, and the edited sources."""
    # A text that is not UTF-8 is left alone, since its places would be wrong.
    texts = (s for s in sources if s.decoded.encode("utf-8", "surrogatepass") == s.encoded)
    edits: dict[str, list[Edit]] = {source.name: [] for source in texts}
    applied: list[Diagnostic] = []
    for finding in findings:
        file = finding.place.file if finding.place is not None else ""
        own = finding.fix.edits if finding.fix is not None and file in edits else ()
        if own and not any(_meet(new, old) for new in own for old in edits[file]):
            edits[file] += own
            applied.append(finding)
    return applied, tuple(_edited(source, edits) for source in sources)


def _meet(a: Edit, b: Edit) -> bool:
    return a.span.start <= b.span.end and b.span.start <= a.span.end


def _edited(source: Source, edits: Mapping[str, Sequence[Edit]]) -> Source:
    text = source.decoded
    own = sorted(edits.get(source.name, ()), key=lambda edit: edit.span.start, reverse=True)
    for edit in own:
        text = text[: edit.span.start] + edit.text + text[edit.span.end :]
    edited = text if isinstance(source.text, str) else text.encode("utf-8")
    return replace(source, text=edited) if own else source
