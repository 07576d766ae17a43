"""The version of the cluster: asked at the start, and again until an upgrade."""

from __future__ import annotations

import asyncio
from random import Random

from kpolicy.clock import NO_PULSE
from kpolicy.cluster.probe import Patience
from kpolicy.scheduler import limits
from kpolicy.scheduler.delivery.cluster_version import ClusterVersion
from tests.manual_clock import ManualClock
from tests.unit.cluster.canned import canned_server, replies, script, status_body
from tests.unit.cluster.doubles import client, eventually


def version(of: str) -> bytes:
    return f'{{"gitVersion":"{of}","major":"1","minor":"36"}}'.encode()


async def test_an_upgrade_is_noticed_and_a_failure_changes_nothing() -> None:
    busy = replies(503, status_body(503, "ServiceUnavailable", "starting"))
    answers = script(
        replies(200, version("v1.36.2")),
        replies(200, version("v1.36.2")),
        busy,
        replies(200, version("v1.37.0")),
    )
    clock, changes = ManualClock(), 0

    def changed() -> None:
        nonlocal changes
        changes += 1

    async with canned_server(answers) as server, client(server.url) as api:
        known = ClusterVersion()
        assert await known.ask(api, Patience(clock, Random(1))) is None
        assert known.known == "v1.36.2"
        task = asyncio.create_task(known.follow(api, clock, changed, NO_PULSE))
        seen: list[tuple[str, int]] = []

        def has_answered() -> bool:
            return len(server.paths("GET")) == len(seen) + 2 and clock.sleepers > 0

        for _ in range(3):
            await eventually(lambda: clock.sleepers > 0)
            await clock.advance(limits.CLUSTER_VERSION_S)
            await eventually(has_answered)
            seen.append((known.known, changes))
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
    assert seen == [("v1.36.2", 0), ("v1.36.2", 0), ("v1.37.0", 1)]


async def test_a_server_that_refuses_is_a_problem() -> None:
    refused = replies(401, status_body(401, "Unauthorized", "Unauthorized"))
    async with canned_server(refused) as server, client(server.url) as api:
        problem = await ClusterVersion().ask(api, Patience(ManualClock(), Random(1)))
        assert problem is not None
        assert problem.code == "KPC204"
