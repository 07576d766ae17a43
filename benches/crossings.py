"""An engine that counts its calls, their bytes and their time, by the name of the call (boundary
B3). It decides as the engine does, and has one caller at a time, as the scheduler's engine thread.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from kpolicy.engine import Applied, Engine, Scheduled, Wake

Answer = TypeVar("Answer")


class CountingEngine(Engine):
    __slots__ = ("bytes_in", "bytes_out", "calls", "counting_ns", "engine_ns")

    def __init__(self, seed: int = 0) -> None:
        super().__init__(seed)
        self.calls: Counter[str] = Counter()
        self.bytes_in: Counter[str] = Counter()
        self.bytes_out: Counter[str] = Counter()
        # Processor time of the engine's thread: in the engine, and for counting here.
        self.engine_ns = 0
        self.counting_ns = 0

    def list_begin(self, resource: str) -> None:
        self._count("list_begin", super().list_begin, resource)

    def list_page(self, resource: str, body: bytes, now_ns: int) -> Applied:
        return self._count("list_page", super().list_page, resource, body, now_ns)

    def list_end(self, resource: str, now_ns: int) -> Applied:
        return self._count("list_end", super().list_end, resource, now_ns)

    def watch(self, resource: str, lines: bytes, now_ns: int) -> Applied:
        return self._count("watch", super().watch, resource, lines, now_ns)

    def schedule(self, uids: Sequence[str], now_ns: int) -> Scheduled:
        return self._count("schedule", super().schedule, uids, now_ns)

    def settle(self, outcomes: Sequence[tuple[str, int]], now_ns: int) -> list[Wake]:
        return self._count("settle", super().settle, outcomes, now_ns)

    def _count(self, name: str, call: Callable[..., Answer], *arguments: Any) -> Answer:
        began_ns = time.thread_time_ns()
        answer = call(*arguments)
        ended_ns = time.thread_time_ns()
        self.engine_ns += ended_ns - began_ns
        self.calls[name] += 1
        self.bytes_in[name] += size(arguments)
        self.bytes_out[name] += size(answer)
        self.counting_ns += time.thread_time_ns() - ended_ns
        return answer


def size(value: Any) -> int:
    """Bytes of text and numbers, without the objects that contain them."""
    match value:
        case bytes() | str():
            return len(value)
        case bool() | None:
            return 1
        case int():
            return 8
        case _:
            return sum(map(size, value))
