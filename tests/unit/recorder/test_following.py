"""Following a live cluster: its lists and changes are journaled without secrets, and what another
scheduler bound can be compared.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest

from kpolicy import compile_policy
from kpolicy.clock import SystemClock, first_of
from kpolicy.cluster.api import ApiClient, Response
from kpolicy.cluster.watch.resource import LinesRead
from kpolicy.journal.engine_calls import Record, call_of
from kpolicy.journal.journal_thread import Journal
from kpolicy.journal.segment_files import SegmentFiles
from kpolicy.journal.segment_format import SegmentHeader
from kpolicy.offline.journal_replay.journal_input import EpochReader, read_journal
from kpolicy.offline.journal_replay.other_policy import OtherPolicy
from kpolicy.recorder.following import RECORDER, JournalSink, follow
from kpolicy.scheduler.loop.watched_resources import READABLE
from kpolicy.testing import ControlPlane, node, pod
from tests.unit.cluster.doubles import client

PODS = "/api/v1/namespaces/default/pods"
WANTED = [READABLE[name] for name in ("nodes", "pods", "namespaces")]
LOOKS_MAX = 3000


def journal_in(folder: Path, on_anew: Callable[[], object] = lambda: None) -> Journal:
    header = SegmentHeader("run", RECORDER, SystemClock().now_ns(), 0)
    journal = Journal(SegmentFiles(folder, header), SystemClock(), on_anew)
    journal.open()
    journal.start()
    return journal


def recorded(folder: Path) -> list[Record]:
    epochs = read_journal([folder]).epochs
    return [record for epoch in epochs for record in EpochReader(epoch).records()]


def binding(name: str, where: str) -> bytes:
    target = {"apiVersion": "v1", "kind": "Node", "name": where}
    return json.dumps(
        {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": name}, "target": target}
    ).encode()


async def until(holds: Callable[[], bool]) -> None:
    for _ in range(LOOKS_MAX):
        if holds():
            return
        await asyncio.sleep(0.01)
    raise AssertionError("it never came")


async def test_lists_and_binds_of_another_scheduler_are_compared(tmp_path: Path) -> None:
    journal, synced, anew = journal_in(tmp_path), asyncio.Event(), asyncio.Event()
    async with ControlPlane() as plane:
        plane.add(node("n1", cpu="4"), node("n2", cpu="1"))
        secret = pod("a", cpu="2")
        secret["spec"]["containers"][0]["env"] = [{"name": "PASSWORD", "value": "hunter2"}]
        plane.add(secret)

        async def other_scheduler(api: ApiClient) -> None:
            await synced.wait()
            plane.add(pod("b", cpu="100m"))
            for name, where in (("a", "n1"), ("b", "n2")):
                path, body = f"{PODS}/{name}/binding", binding(name, where)
                assert isinstance(await api.request("POST", path, body=body), Response)
            before = journal.statistics().calls
            await until(lambda: journal.statistics().calls > before)
            anew.set()
            await until(lambda: journal.statistics().epochs == 2)
            await until(lambda: any(each.name == "checkpoint" for each in recorded(tmp_path)))

        async with client(plane.url, SystemClock()) as api:
            following = follow(
                api,
                journal,
                SystemClock(),
                Random(1),
                wanted=WANTED,
                anew=anew,
                on_synced=synced.set,
            )
            await first_of(following, other_scheduler(api))
    await asyncio.to_thread(journal.stop)
    assert b"hunter2" not in b"".join(each.arguments for each in recorded(tmp_path))
    program = compile_policy((), every_pod=True).program
    assert program is not None
    other = OtherPolicy(program)
    for epoch in read_journal([tmp_path]).epochs:
        other.replay(epoch)
    assert (other.compared.binds, other.compared.decisions) == (2, 2)


@pytest.mark.parametrize(
    ("lines", "read"),
    [
        (b"no json\n", (500, "")),
        (b'{"type": "ERROR", "object": {"code": 410, "reason": "Expired"}}\n', (410, "")),
        (b'{"type": "BOOKMARK", "object": {"metadata": {"resourceVersion": "9"}}}\n', (0, "9")),
    ],
)
async def test_what_is_no_object_is_told(
    lines: bytes, read: tuple[int, str], tmp_path: Path
) -> None:
    journal = journal_in(tmp_path)
    found: LinesRead = await JournalSink(journal, SystemClock()).lines("pods", lines)
    journal.stop()
    assert (found.status.code if found.status is not None else 0, found.resource_version) == read
    kept = [call_of(each).arguments[1] for each in recorded(tmp_path)]
    assert [b"BOOKMARK" in each for each in kept] == ([True] if read[1] else [])


async def test_an_answer_that_is_no_list_begins_again(tmp_path: Path) -> None:
    journal = journal_in(tmp_path)
    sink = JournalSink(journal, SystemClock())
    await sink.list_begin("pods")
    assert (await sink.list_page("pods", b'{"kind": "Status"}')).status is not None
    journal.stop()
    assert [each.name for each in recorded(tmp_path)] == ["list_begin"]
