"""Who moves where: streams from places on the left to places on the right, as wide as they are
many. The largest streams are shown one by one, and the others together.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from kpolicy.offline.limits import PAGE_MOVES_MAX
from kpolicy.offline.pages.chart import Drawing, Option
from kpolicy.offline.reports.columns import counted

_OTHERS: Final = "(others)"
_PLACE_PIXELS: Final = 28


@dataclass(frozen=True, slots=True)
class Move:
    source: str
    target: str
    count: int


@dataclass(frozen=True, slots=True)
class Moves:
    """`what` is counted, such as `pod`."""

    title: str
    moves: Sequence[Move]
    about: str = ""
    what: str = "pod"

    def drawing(self) -> Drawing:
        counts: Counter[tuple[str, str]] = Counter()
        for move in self.moves:
            counts[move.source, move.target] += move.count
        order = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
        streams = Counter(dict(order[:PAGE_MOVES_MAX]))
        if rest := sum(count for _, count in order[PAGE_MOVES_MAX:]):
            streams[_OTHERS, _OTHERS] += rest
        # A place may be on both sides, and its name may be anything.
        sources = list(dict.fromkeys(source for source, _ in streams))
        targets = list(dict.fromkeys(target for _, target in streams))
        left = {name: f"from {at}" for at, name in enumerate(sources)}
        right = {name: f"to {at}" for at, name in enumerate(targets)}
        links = [
            {
                "source": left[source],
                "target": right[target],
                "value": count,
                "tip": [f"{source} → {target}", self._counted(count)],
            }
            for (source, target), count in streams.items()
        ]
        option: Option = {
            "series": [
                {
                    "type": "sankey",
                    "data": [*self._places(left, 0, streams), *self._places(right, 1, streams)],
                    "links": links,
                    "left": 8,
                    "right": 170,
                    "top": 8,
                    "bottom": 8,
                    "draggable": False,
                    "layoutIterations": 16,
                    "lineStyle": {"color": "source", "opacity": 0.35},
                    "label": {"width": 150, "overflow": "truncate", "color": "@text"},
                    "emphasis": {"focus": "adjacency"},
                }
            ]
        }
        height = 60 + _PLACE_PIXELS * max(len(left), len(right))
        return Drawing(option, self._summary(), height, width_min=520)

    def _places(
        self, names: dict[str, str], side: int, streams: Counter[tuple[str, str]]
    ) -> list[Option]:
        totals: Counter[str] = Counter()
        for ends, count in streams.items():
            totals[ends[side]] += count
        return [
            {
                "name": key,
                "shown": name,
                "depth": side,
                "tip": [name, self._counted(totals[name])],
            }
            for name, key in names.items()
        ]

    def _counted(self, count: int) -> str:
        return counted(count, self.what)

    def _summary(self) -> str:
        total = sum(move.count for move in self.moves)
        return f"{self.title}: where {self._counted(total)} go."
