"""Mending what can be mended: the edits of findings, carried out on texts.

Owns which edits go together, and that nothing else changes: a policy that compiled before means the
same afterwards, and one that did not has fewer findings. Assumes diagnostics of exactly these
texts. Must not know files, nor what a finding is about.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from kpolicy.diagnostics import Diagnostic, Edit, has_errors
from kpolicy.policy.compile import Compiled
from kpolicy.policy.yaml.source import Source

# A fix may uncover another; more rounds than this is a circle.
ROUNDS_MAX: Final = 10

Compile = Callable[[Sequence[Source]], Compiled]


@dataclass(frozen=True, slots=True)
class Fixed:
    """The sources as they are now, what was mended, and what is left."""

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
    """Carries out the fixes of chosen findings, over and over until none is left."""
    now, compiled = tuple(sources), compile_sources(sources)
    mended: list[Diagnostic] = []
    refused: set[tuple[str, str]] = set()
    for _ in range(ROUNDS_MAX):
        wanted = [
            one
            for one in compiled.diagnostics
            if one.fix is not None
            and (one.fix.is_safe or is_unsafe)
            and is_chosen(one.code)
            and (one.code, one.message) not in refused
        ]
        taken, after = _carried_out(now, wanted)
        if not taken:
            break
        then = compile_sources(after)
        if _is_better(compiled, then, len(taken)):
            now, compiled = after, then
            mended += taken
            continue
        # One of them does harm: each by itself, from the first.
        kept = _one_by_one(now, compiled, taken, compile_sources)
        refused |= {(one.code, one.message) for one in taken if one not in kept[1]}
        now, compiled = kept[0], kept[2]
        mended += kept[1]
    return Fixed(now, tuple(mended), compiled)


def _one_by_one(
    sources: tuple[Source, ...],
    compiled: Compiled,
    taken: Sequence[Diagnostic],
    compile_sources: Compile,
) -> tuple[tuple[Source, ...], list[Diagnostic], Compiled]:
    """The first that does no harm; the others come again in the next round, at their new places."""
    for one in taken:
        _, after = _carried_out(sources, [one])
        then = compile_sources(after)
        if _is_better(compiled, then, 1):
            return after, [one], then
    return sources, [], compiled


def _is_better(before: Compiled, after: Compiled, count: int) -> bool:
    """Same meaning where there was one; otherwise no new errors."""
    if before.program is not None:
        return after.program is not None and after.program.hash == before.program.hash
    lost = _errors(before) - _errors(after)
    # What was hidden behind an error that is mended may show; never more than was mended.
    return has_errors(before.diagnostics) and lost > -count and _unread(after) <= _unread(before)


def _errors(compiled: Compiled) -> int:
    return sum(1 for one in compiled.diagnostics if has_errors((one,)))


def _unread(compiled: Compiled) -> int:
    """Errors of syntax: edits never make any."""
    return sum(one.code in ("KP101", "KP105", "KP110") for one in compiled.diagnostics)


def _carried_out(
    sources: Sequence[Source], diagnostics: Sequence[Diagnostic]
) -> tuple[list[Diagnostic], tuple[Source, ...]]:
    """Those whose edits do not meet others', and the sources with them."""
    edits: dict[str, list[Edit]] = {source.name: [] for source in sources if _is_text(source)}
    taken: list[Diagnostic] = []
    for one in diagnostics:
        file = one.place.file if one.place is not None else ""
        if one.fix is None or file not in edits:
            continue
        if any(_meet(new, old) for new in one.fix.edits for old in edits[file]):
            continue
        edits[file] += one.fix.edits
        taken.append(one)
    return taken, tuple(_edited(source, edits) for source in sources)


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
    for edit in sorted(own, key=lambda one: one.span.start, reverse=True):
        text = text[: edit.span.start] + edit.text + text[edit.span.end :]
    return replace(source, text=text if isinstance(source.text, str) else text.encode("utf-8"))
