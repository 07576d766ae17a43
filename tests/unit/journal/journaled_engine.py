"""An engine whose calls are journaled at once, and a small cluster for it."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from kpolicy import compile_policy
from kpolicy.engine import Engine, Scheduled
from kpolicy.journal.engine_calls import Call, Held, record_parts
from kpolicy.journal.journal_thread import Journal
from kpolicy.journal.limits import DISK_BYTES
from kpolicy.journal.segment_files import SegmentFiles
from kpolicy.journal.segment_format import SegmentHeader
from kpolicy.testing import node, pod
from tests.manual_clock import ManualClock

NOW_NS = 1_767_225_600_000_000_000
SEED = 7
KINDS = {"nodes": "Node", "pods": "Pod"}


def record_bytes(call: Call, answer: Any, at_ns: int) -> bytes:
    return b"".join(record_parts(call, answer, at_ns))


def program(policy: str = "", *, every_pod: bool = True) -> bytes:
    compiled = compile_policy(policy or (), every_pod=every_pod)
    assert compiled.program is not None, compiled.diagnostics
    return compiled.program.bytes


def page(resource: str, items: Iterable[dict[str, Any]]) -> bytes:
    document = {
        "kind": f"{KINDS[resource]}List",
        "metadata": {"resourceVersion": "5"},
        "items": list(items),
    }
    return json.dumps(document).encode()


def lines(*events: tuple[str, dict[str, Any]]) -> bytes:
    return b"".join(
        json.dumps({"type": kind, "object": item}).encode() + b"\n" for kind, item in events
    )


def pending(name: str, **fields: Any) -> dict[str, Any]:
    made = pod(name, cpu="100m", **fields)
    made["metadata"]["uid"] = name
    return made


def on_node(name: str, node_name: str) -> dict[str, Any]:
    return pending(name, node_name=node_name)


class JournaledEngine:
    """`journal.write_waiting` is called after each call, in the place of a thread."""

    def __init__(
        self,
        folder: Path,
        *,
        bytes_max: int = DISK_BYTES,
        recorder: str = "a test",
        run: str = "run",
        later_ns: int = 0,
    ) -> None:
        self.clock = ManualClock(NOW_NS + later_ns)
        self.anew = 0
        header = SegmentHeader(run, recorder, self.clock.now_ns(), SEED)
        self.files = SegmentFiles(folder, header, bytes_max)
        self.journal = Journal(self.files, self.clock, self._want_anew)
        self.journal.open()
        self.engine = Engine(SEED, threads=1)
        self.engine.records = True

    def call(self, name: str, *arguments: Any, **options: Any) -> Any:
        answer = getattr(self.engine, name)(*arguments, **options)
        self.journal(name, arguments, options, answer)
        self.journal.write_waiting()
        return answer

    def now(self) -> int:
        return self.clock.now_ns()

    def list(self, resource: str, items: Iterable[dict[str, Any]]) -> None:
        self.call("list_begin", resource)
        self.call("list_page", resource, page(resource, items), self.now())
        self.call("list_end", resource, self.now())

    def begin(self, nodes: int = 4, policy: str = "") -> None:
        assert self.call("load", program(policy)) == []
        self.list("nodes", [node(f"n{number}", cpu="4") for number in range(nodes)])
        self.list("pods", [])

    def place(self, *names: str) -> dict[str, str]:
        """Makes pods, decides about them, and lets the watch confirm it."""
        self.call("watch", "pods", lines(*(("ADDED", pending(name)) for name in names)), self.now())
        decided: Scheduled = self.call("schedule", list(names), self.now())
        placed = {each.uid: each.node for each in decided.decisions}
        self.call("settle", [(name, 0) for name in names], self.now())
        confirmed = [("MODIFIED", on_node(name, where)) for name, where in placed.items()]
        self.call("watch", "pods", lines(*confirmed), self.now())
        return placed

    def place_one_by_one(self, prefix: str, count: int) -> dict[str, str]:
        placed: dict[str, str] = {}
        for number in range(count):
            placed |= self.place(f"{prefix}-{number}")
        return placed

    def begin_anew(self, nodes: int, placed: dict[str, str]) -> None:
        begun = self.journal.begin_anew()
        self.journal.write_waiting()
        assert begun.result(0)
        self.list("nodes", [node(f"n{number}", cpu="4") for number in range(nodes)])
        self.list("pods", [on_node(name, where) for name, where in placed.items()])
        held = Held(self.engine.holdings(), self.engine.statistics())
        self.journal("checkpoint", (), {}, held)
        self.journal.write_waiting()

    def close(self) -> None:
        self.journal.stop()

    def _want_anew(self) -> None:
        self.anew += 1
