"""The writes of two schedulers in the same scenes, by kind: verb, resource and status code."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from kpolicy.offline.reports.columns import columns
from tests.cluster.audit import AuditEvent

_REFUSED: Final = 400


class Kind(NamedTuple):
    verb: str
    resource: str
    code: int

    @property
    def request(self) -> str:
        return f"{self.verb} {self.resource}"


def counted(events: Iterable[AuditEvent], user: str) -> Counter[Kind]:
    """The writes of one user."""
    return Counter(
        Kind(event.verb, event.what, event.code)
        for event in events
        if event.user == user and event.writes
    )


@dataclass(frozen=True, slots=True)
class Requests:
    """How often each scheduler, by its name, sent each kind."""

    first: str
    second: str
    counts: Mapping[str, Counter[Kind]]

    def table(self) -> list[str]:
        kinds = sorted(set().union(*self.counts.values()))
        cells: list[Sequence[str]] = [("request", "code", self.first, self.second)]
        for kind in kinds:
            numbers = (f"{self.counts[name][kind]:,}" for name in (self.first, self.second))
            cells.append((kind.request, str(kind.code), *numbers))
        return columns(cells, right=(1, 2, 3))

    def more(self) -> list[str]:
        """What the second sends more often than the first: requests, with all their answers, and
        those that are refused. A scheduler that sends what the other never does is named too."""
        sentences = []
        for what, total in (("", _sent), (" that are refused", _refused)):
            first, second = total(self.counts[self.first]), total(self.counts[self.second])
            sentences += [
                f"{request}{what}: {count:,} by {self.second}, {first[request]:,} by {self.first}"
                for request, count in sorted(second.items())
                if count > first[request]
            ]
        return sentences

    def line(self) -> dict[str, Any]:
        return {
            name: [{**kind._asdict(), "count": count} for kind, count in sorted(counts.items())]
            for name, counts in self.counts.items()
        }


def _sent(counts: Mapping[Kind, int]) -> Counter[str]:
    sums: Counter[str] = Counter()
    for kind, count in counts.items():
        sums[kind.request] += count
    return sums


def _refused(counts: Mapping[Kind, int]) -> Counter[str]:
    return _sent({kind: count for kind, count in counts.items() if kind.code >= _REFUSED})
