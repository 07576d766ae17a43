"""Identical events told once: which occurrence is a new Event, which only counts.

Owns the memory of what was written lately, and when a count is worth a write. Pure state: time is
an argument. Must not know bodies or requests.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable, Iterator
from dataclasses import dataclass

from kpolicy.clock import NANOSECONDS
from kpolicy.cluster.limits import EVENT_SERIES_MAX, EVENT_SERIES_S, EVENT_SERIES_WRITE_S


@dataclass(slots=True)
class Series:
    """One Event object and how often what it tells has happened."""

    key: Hashable
    namespace: str
    name: str
    count: int
    last_seen_ns: int  # monotonic
    last_seen_wall_ns: int
    written_count: int = 1
    last_write_ns: int = 0

    @property
    def unwritten(self) -> bool:
        return self.count > self.written_count


class SeriesMemory:
    """The least recently seen are forgotten beyond the bound."""

    def __init__(self, series_max: int = EVENT_SERIES_MAX) -> None:
        self._series_max = series_max
        self._series: OrderedDict[Hashable, Series] = OrderedDict()
        self.forgotten = 0

    def __len__(self) -> int:
        return len(self._series)

    def seen(self, key: Hashable, monotonic_ns: int, wall_ns: int) -> Series | None:
        """Count another occurrence; None when there is no running series, so a new Event is due."""
        series = self._series.get(key)
        if series is None or monotonic_ns - series.last_seen_ns > EVENT_SERIES_S * NANOSECONDS:
            return None
        self._series.move_to_end(key)
        series.count += 1
        series.last_seen_ns, series.last_seen_wall_ns = monotonic_ns, wall_ns
        return series

    def begin(
        self, key: Hashable, namespace: str, name: str, monotonic_ns: int, wall_ns: int
    ) -> None:
        self._series.pop(key, None)
        self._series[key] = Series(
            key, namespace, name, 1, monotonic_ns, wall_ns, last_write_ns=monotonic_ns
        )
        if len(self._series) > self._series_max:
            self._series.popitem(last=False)
            self.forgotten += 1

    def end(self, key: Hashable) -> None:
        """The Event was not written, or is gone: the next occurrence begins anew."""
        self._series.pop(key, None)

    def worth_writing(self, series: Series, monotonic_ns: int) -> bool:
        """The first repetition at once, so that people see it repeats; then once in a while."""
        return series.unwritten and (
            series.written_count == 1
            or monotonic_ns - series.last_write_ns >= EVENT_SERIES_WRITE_S * NANOSECONDS
        )

    def written(self, series: Series, monotonic_ns: int) -> None:
        series.written_count, series.last_write_ns = series.count, monotonic_ns

    def due(self, monotonic_ns: int) -> Iterator[Series]:
        """Series whose count should be written now; those that have ended are forgotten after."""
        for key, series in list(self._series.items()):
            ended = monotonic_ns - series.last_seen_ns > EVENT_SERIES_S * NANOSECONDS
            if series.unwritten and (ended or self.worth_writing(series, monotonic_ns)):
                yield series
            if ended:
                self._series.pop(key, None)
