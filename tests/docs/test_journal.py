"""The journal of the guide holds the calls that are written here."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from kpolicy.engine import Engine, Scheduled
from kpolicy.journal.journal_thread import Journal
from kpolicy.journal.segment_files import SegmentFiles
from kpolicy.journal.segment_format import SegmentHeader
from kpolicy.offline.journal_replay.journal_input import EpochReader, read_journal
from kpolicy.testing import node, pod
from tests.manual_clock import ManualClock
from tests.tree.sources import ROOT
from tests.unit.journal.journaled_engine import lines, page, program

FOLDER = ROOT / "docs" / "guides" / "shop-journal"
BEGAN_NS = 1_780_300_800_000_000_000  # 2026-06-01T08:00:00Z
SEED = 7


def shop_pod(app: str, number: int, cpu: str, node_name: str = "") -> dict[str, Any]:
    made = pod(f"{app}-7d4b9c6f5-{number:05}", cpu=cpu, namespace="shop", node_name=node_name)
    labels = {"app": app, "pod-template-hash": "7d4b9c6f5"}
    owner = {"kind": "ReplicaSet", "name": f"{app}-7d4b9c6f5", "controller": True}
    made["metadata"] |= {"uid": f"{app}-{number}", "labels": labels, "ownerReferences": [owner]}
    made["spec"]["schedulerName"] = "default-scheduler"
    return made


class Shop:
    """Three workers, and pods of two apps that come one after the other."""

    def __init__(self, folder: Path) -> None:
        self.clock = ManualClock(BEGAN_NS)
        header = SegmentHeader("0d15ea5e", "kpolicy run", BEGAN_NS, SEED, cluster_version="v1.36.2")
        files = SegmentFiles(folder, header)
        self.journal = Journal(files, self.clock, lambda: None)
        self.journal.open()
        self.engine = Engine(SEED, threads=1)

    def call(self, name: str, *arguments: Any) -> Any:
        answer = getattr(self.engine, name)(*arguments)
        self.journal(name, arguments, {}, answer)
        self.journal.write_waiting()
        return answer

    def open(self) -> None:
        assert self.call("load", program()) == []
        workers = [node(f"worker-{number}", cpu="4", memory="16Gi") for number in (1, 2, 3)]
        for resource in self.engine.resources():
            self.call("list_begin", resource)
            if resource == "nodes":
                self.call("list_page", resource, page(resource, workers), self.clock.now_ns())
            self.call("list_end", resource, self.clock.now_ns())

    def deploy(self, app: str, replicas: int, cpu: str) -> None:
        for number in range(replicas):
            self.clock.stand_still(1)
            now_ns = self.clock.now_ns()
            self.call("watch", "pods", lines(("ADDED", shop_pod(app, number, cpu))), now_ns)
            scheduled: Scheduled = self.call("schedule", [f"{app}-{number}"], now_ns)
            where = scheduled.decisions[0].node
            if where:
                self.call("settle", [(f"{app}-{number}", 0)], now_ns)
                bound = shop_pod(app, number, cpu, where)
                self.call("watch", "pods", lines(("MODIFIED", bound)), now_ns)


def write(folder: Path) -> None:
    """`python -c` with this function writes the journal anew."""
    shop = Shop(folder)
    shop.open()
    shop.deploy("web", 6, "500m")
    shop.deploy("search", 4, "2500m")
    shop.journal.stop()
    (folder / ".journal.lock").unlink()


def test_the_journal_holds_the_calls_that_are_written_here(tmp_path: Path) -> None:
    write(tmp_path)
    [here], [made] = (read_journal([folder]).epochs for folder in (FOLDER, tmp_path))
    assert here.header == made.header
    assert list(EpochReader(here).records()) == list(EpochReader(made).records())
