"""Applies the fixes of findings to texts (`kpolicy lint --fix`).

A policy that compiled keeps its meaning, and one that did not gets fewer errors. Otherwise the fix
is not applied.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from kpolicy.diagnostics import Diagnostic, Edit, has_errors
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
    mended: tuple[Diagnostic, ...]
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
    mended: list[Diagnostic] = []
    refused: set[tuple[str, str]] = set()
    for _ in range(ROUNDS_MAX):
        wanted = [
            finding
            for finding in compiled.diagnostics
            if finding.fix is not None
            and (finding.fix.is_safe or is_unsafe)
            and is_chosen(finding.code)
            and (finding.code, finding.message) not in refused
        ]
        applied, after = _applied(now, wanted)
        if not applied:
            break
        result = compile_sources(after)
        if not _is_better(compiled, result, len(applied)):
            # One of the fixes does harm: apply the first good one, and try the others again.
            kept, after, result = _first_good(now, compiled, applied, compile_sources)
            refused |= {(f.code, f.message) for f in applied if f not in kept}
            applied = kept
        now, compiled = after, result
        mended += applied
    return Fixed(now, tuple(mended), compiled)


def _first_good(
    sources: tuple[Source, ...],
    compiled: Compiled,
    findings: Sequence[Diagnostic],
    compile_sources: Compile,
) -> tuple[list[Diagnostic], tuple[Source, ...], Compiled]:
    """The first fix that does no harm, applied by itself."""
    for finding in findings:
        _, after = _applied(sources, [finding])
        result = compile_sources(after)
        if _is_better(compiled, result, 1):
            return [finding], after, result
    return [], sources, compiled


def _is_better(before: Compiled, after: Compiled, count: int) -> bool:
    """The same program if there was one; otherwise no more errors than before."""
    if before.program is not None:
        return after.program is not None and after.program.hash == before.program.hash
    fewer = _errors(before) - _errors(after)
    # A fixed error may have hidden others; each fix uncovers one at most.
    return (
        has_errors(before.diagnostics)
        and fewer > -count
        and _syntax_errors(after) <= _syntax_errors(before)
    )


def _errors(compiled: Compiled) -> int:
    return sum(finding.is_error for finding in compiled.diagnostics)


def _syntax_errors(compiled: Compiled) -> int:
    return sum(finding.code in _SYNTAX_CODES for finding in compiled.diagnostics)


def _applied(
    sources: Sequence[Source], findings: Sequence[Diagnostic]
) -> tuple[list[Diagnostic], tuple[Source, ...]]:
    """The findings whose edits do not overlap with earlier ones, and the edited sources."""
    edits: dict[str, list[Edit]] = {source.name: [] for source in sources if _is_text(source)}
    applied: list[Diagnostic] = []
    for finding in findings:
        file = finding.place.file if finding.place is not None else ""
        if finding.fix is None or file not in edits:
            continue
        if any(_meet(new, old) for new in finding.fix.edits for old in edits[file]):
            continue
        edits[file] += finding.fix.edits
        applied.append(finding)
    return applied, tuple(_edited(source, edits) for source in sources)


def _meet(a: Edit, b: Edit) -> bool:
    return a.span.start <= b.span.end and b.span.start <= a.span.end


def _is_text(source: Source) -> bool:
    """What is not UTF-8 is left alone: places would be of another text."""
    if isinstance(source.text, bytes):
        try:
            source.text.decode("utf-8")
        except UnicodeDecodeError:
            return False
    return True


def _edited(source: Source, edits: Mapping[str, Sequence[Edit]]) -> Source:
    own = edits.get(source.name)
    if not own:
        return source
    text = source.text if isinstance(source.text, str) else source.text.decode("utf-8")
    for edit in sorted(own, key=lambda edit: edit.span.start, reverse=True):
        text = text[: edit.span.start] + edit.text + text[edit.span.end :]
    return replace(source, text=text if isinstance(source.text, str) else text.encode("utf-8"))
