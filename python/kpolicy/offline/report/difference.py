"""What two policies decide otherwise, for people.

Owns the layout. Must not compute what is not in the differences.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from kpolicy.offline.diff import Diff, Difference, Judged
from kpolicy.offline.difference_reason import Outscored, Rejection, Scored
from kpolicy.offline.report.columns import columns, counted

_WORDS: Final = {
    "moved": "go to another node",
    "placedByOld": "are placed by the old policy only",
    "placedByNew": "are placed by the new policy only",
    "servedByOld": "are served by the old policy only",
    "servedByNew": "are served by the new policy only",
}


def difference_text(one: Difference) -> Iterator[str]:
    where = " (on a node)" if one.is_placed else ""
    yield f"{one.pod}: {_told(one.old)} → {_told(one.new)}{where}"
    match one.reason:
        case Rejection() as rejection:
            what = rejection.node or "the pod"
            why = ", ".join(rejection.reasons)
            yield f"  {rejection.rule} of the {rejection.policy} policy rejects {what}: {why}"
        case Outscored() as outscored if outscored.is_tie:
            yield "  both are as good as each other under either policy; the tie fell otherwise"
        case Outscored() as outscored:
            yield from columns(
                [_scored(scored, one) for scored in outscored.rules], right=(1,), indent="  "
            )


def _told(judged: Judged) -> str:
    if not judged.is_served:
        return "(not served)"
    return judged.node or "(pending)"


def _scored(scored: Scored, one: Difference) -> list[str]:
    def pair(name: str) -> str:
        before, after = scored.old.get(name), scored.new.get(name)
        told = ("–" if score is None else f"{score:,}" for score in (before, after))
        return f"{name} {' → '.join(told)}"

    return [scored.rule, f"{scored.shift:+,}", pair(one.old.node), pair(one.new.node)]


def summary_text(diff: Diff) -> list[str]:
    differ = len(diff.differences)
    summary = diff.line()["summary"]
    head = f"{differ:,} of {counted(diff.pods, 'pod')} would be decided otherwise"
    placed = f"placed: {diff.placed_by_old:,} by the old policy, {diff.placed_by_new:,} by the new"
    kinds = [[f"{summary[kind]:,}", words] for kind, words in _WORDS.items() if summary[kind]]
    rules = [[f"{count:,}", rule] for rule, count in summary["byRule"].items()]
    lines = [head, *columns(kinds, right=(0,), indent="  "), placed]
    if rules:
        lines += ["rules that made a difference", *columns(rules, right=(0,), indent="  ")]
    return lines
