"""A sink stays up to date through everything that lists and watches do."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from random import Random

import pytest

from kpolicy.cluster.limits import REFUSED_SOON_MAX
from kpolicy.cluster.watch.informer import Informer
from kpolicy.cluster.watch.resource import Resource
from tests.manual_clock import ManualClock
from tests.unit.cluster.canned import (
    CannedServer,
    Exchange,
    Handler,
    canned_server,
    replies,
    script,
    status_body,
)
from tests.unit.cluster.doubles import client, eventually
from tests.unit.cluster.recording import (
    RecordingSink,
    error_event,
    event,
    page,
)

PODS = Resource(
    "pods", "/api/v1/pods", field_selector="status.phase!=Succeeded,status.phase!=Failed"
)


def watch_of(*chunks: bytes, then: str = "stay") -> Handler:
    """A watch that sends these chunks and then stays open, ends, or breaks."""

    async def handler(exchange: Exchange) -> None:
        await exchange.begin()
        for chunk in chunks:
            await exchange.chunk(chunk)
        if then == "end":
            await exchange.end()
        elif then == "break":
            exchange.cut()
        else:
            await exchange.hang()

    return handler


def routes(lists: Handler, watches: Handler) -> Handler:
    async def handler(exchange: Exchange) -> None:
        await (watches if "watch" in exchange.asked.query else lists)(exchange)

    return handler


class Running:
    def __init__(
        self, server: CannedServer, sink: RecordingSink, clock: ManualClock, informer: Informer
    ) -> None:
        self.server = server
        self.sink = sink
        self.clock = clock
        self.informer = informer
        self._failures_passed = 0

    async def until_calls(self, *calls: str) -> None:
        await eventually(lambda: self.sink.calls[-len(calls) :] == list(calls))

    async def pass_backoff(self) -> None:
        """The informer waits after a failure, each time another: let that time pass."""
        await eventually(
            lambda: (
                self.informer.statistics().failures > self._failures_passed
                and self.clock.sleepers == 1
            )
        )
        self._failures_passed = self.informer.statistics().failures
        await self.clock.jump()

    def watches(self) -> list[dict[str, str]]:
        return [asked.query for asked in self.server.asked if "watch" in asked.query]

    def lists(self) -> list[dict[str, str]]:
        return [asked.query for asked in self.server.asked if "watch" not in asked.query]


@asynccontextmanager
async def running(handler: Handler) -> AsyncIterator[Running]:
    clock, sink = ManualClock(), RecordingSink()
    async with canned_server(handler) as server, client(server.url, clock) as api:
        informer = Informer(api, PODS, sink, clock, Random(1))
        task = asyncio.create_task(informer.run())
        try:
            yield Running(server, sink, clock, informer)
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)


async def test_it_lists_in_pages_then_watches_from_the_lists_version() -> None:
    lists = script(replies(200, page(7, "a", "b", token="t1")), replies(200, page(7, "c")))
    watches = watch_of(event("ADDED", 8, "d"), event("DELETED", 9, "a"))
    async with running(routes(lists, watches)) as run:
        await run.sink.until(lambda: run.sink.objects == {"b": "7", "c": "7", "d": "8"})
        assert run.sink.calls[:4] == ["begin", "page", "page", "end 7"]
        first, second = run.lists()
        assert first["limit"] == second["limit"] == "500"
        assert "resourceVersion" not in first
        assert second["continue"] == "t1"
        assert first["fieldSelector"] == second["fieldSelector"] == PODS.field_selector
        watch = run.watches()[0]
        assert watch["resourceVersion"] == "7"
        assert watch["allowWatchBookmarks"] == "true"
        assert 300 <= int(watch["timeoutSeconds"]) <= 600
        assert watch["fieldSelector"] == PODS.field_selector
        await run.informer.wait_synced()
        statistics = run.informer.statistics()
        assert (statistics.synced, statistics.lists, statistics.relists) == (True, 1, 0)
        assert statistics.resource_version == "9"
        assert statistics.last_error == ""


async def test_half_lines_are_put_together() -> None:
    line = event("ADDED", 8, "d")
    chunks = [line[:1], line[1:40], line[40:] + line[:5], line[5:]]
    async with running(routes(replies(200, page(7)), watch_of(*chunks))) as run:
        await eventually(lambda: b"".join(run.sink.batches) == line * 2)
        assert run.sink.objects == {"d": "8"}


async def test_all_that_is_readable_is_handed_over_in_one_call() -> None:
    burst = b"".join(event("ADDED", n, f"p{n}") for n in range(8, 1008))
    async with running(routes(replies(200, page(7)), watch_of(burst))) as run:
        await run.sink.until(lambda: len(run.sink.objects) == 1000)
        assert b"".join(run.sink.batches) == burst
        assert len(run.sink.batches) < 20


async def test_a_watch_whose_time_is_up_goes_on_from_the_newest_version_at_once() -> None:
    bookmark = event("BOOKMARK", 42, "")
    watches = script(watch_of(event("ADDED", 8, "d"), bookmark, then="end"), watch_of())
    async with running(routes(replies(200, page(7)), watches)) as run:
        await eventually(lambda: len(run.watches()) == 2)
        assert run.watches()[1]["resourceVersion"] == "42"
        assert len(run.lists()) == 1
        assert run.informer.statistics().reconnects == 1


async def test_a_broken_watch_backs_off_and_goes_on_from_the_newest_version() -> None:
    watches = script(watch_of(event("ADDED", 8, "d") + b'{"half', then="break"), watch_of())
    async with running(routes(replies(200, page(7)), watches)) as run:
        await run.pass_backoff()
        await eventually(lambda: len(run.watches()) == 2)
        assert run.watches()[1]["resourceVersion"] == "8"
        assert len(run.lists()) == 1
        assert run.informer.statistics().failures == 1


@pytest.mark.parametrize("in_stream", [True, False])
async def test_410_lists_again_and_what_is_not_named_any_more_is_gone(in_stream: bool) -> None:
    lists = script(replies(200, page(7, "a", "b")), replies(200, page(20, "b", "c")))
    gone: Handler = replies(410, status_body(410, "Expired", "too old resource version"))
    if in_stream:
        gone = watch_of(error_event(410, "Expired", "too old resource version"), then="end")
    async with running(routes(lists, script(gone, watch_of()))) as run:
        await run.pass_backoff()
        await run.sink.until(lambda: run.sink.objects == {"b": "20", "c": "20"})
        assert run.lists()[1]["resourceVersion"] == "7"
        assert run.lists()[1]["resourceVersionMatch"] == "NotOlderThan"
        await eventually(lambda: len(run.watches()) == 2)
        assert run.watches()[1]["resourceVersion"] == "20"
        assert run.informer.statistics().relists == 1
        assert run.informer.statistics().last_error == ""


async def test_429_on_a_watch_waits_as_asked_and_never_lists() -> None:
    busy = replies(429, status_body(429, "TooManyRequests", "busy"), {"Retry-After": "9"})
    async with running(routes(replies(200, page(7)), script(busy, watch_of()))) as run:
        await eventually(lambda: run.clock.sleepers == 1)
        await run.clock.advance(8.9)
        assert len(run.watches()) == 1
        await run.clock.advance(2)
        await eventually(lambda: len(run.watches()) == 2)
        assert run.watches()[1]["resourceVersion"] == "7"
        assert len(run.lists()) == 1


async def test_429_on_a_page_repeats_that_page_only() -> None:
    busy = replies(429, status_body(429, "TooManyRequests", "busy"), {"Retry-After": "1"})
    lists = script(replies(200, page(7, "a", token="t1")), busy, replies(200, page(7, "b")))
    async with running(routes(lists, watch_of())) as run:
        await run.pass_backoff()
        await run.sink.until(lambda: run.sink.objects == {"a": "7", "b": "7"})
        assert [asked.get("continue") for asked in run.lists()] == [None, "t1", "t1"]
        assert run.sink.calls == ["begin", "page", "page", "end 7"]


@pytest.mark.parametrize("pages", [[], [page(7, "a", token="t1")]], ids=["first", "second"])
async def test_a_page_that_is_no_list_is_not_the_end_of_one(pages: list[bytes]) -> None:
    lists = script(
        *(replies(200, page) for page in pages),
        replies(200, b"<html>sign in first</html>"),
        replies(200, page(9, "a", "b")),
    )
    async with running(routes(lists, watch_of())) as run:
        await eventually(lambda: "NotJson" in run.informer.statistics().last_error)
        assert not run.informer.statistics().synced
        assert not [call for call in run.sink.calls if call.startswith("end")]
        await run.pass_backoff()
        await run.sink.until(lambda: run.sink.objects == {"a": "9", "b": "9"})
        await eventually(lambda: len(run.watches()) == 1)
        assert run.watches()[0]["resourceVersion"] == "9"


async def test_an_expired_continue_token_begins_the_list_again() -> None:
    expired = replies(410, status_body(410, "Expired", "The provided continue parameter is old"))
    lists = script(replies(200, page(7, "a", token="t1")), expired, replies(200, page(9, "b")))
    async with running(routes(lists, watch_of())) as run:
        await run.pass_backoff()
        await run.sink.until(lambda: run.sink.objects == {"b": "9"})
        assert [asked["limit"] for asked in run.lists()] == ["500", "500", "2000"]
        assert run.sink.calls == ["begin", "page", "begin", "page", "end 9"]


async def test_a_server_behind_us_is_asked_again_then_listed_at_its_newest() -> None:
    text = "Too large resource version: 100, current: 90"
    behind = replies(504, status_body(504, "Timeout", text))
    lists = script(replies(200, page(100, "a")), replies(200, page(101, "a", "b")))
    async with running(routes(lists, script(behind, behind, behind, watch_of()))) as run:
        for _ in range(3):
            await run.pass_backoff()
        await run.sink.until(lambda: run.sink.objects == {"a": "101", "b": "101"})
        assert len(run.watches()) >= 3
        assert "resourceVersion" not in run.lists()[1]


async def test_a_silent_watch_is_left_after_75_seconds_and_goes_on_where_it_was() -> None:
    watches = script(watch_of(event("ADDED", 8, "d")), watch_of(event("ADDED", 9, "e")))
    async with running(routes(replies(200, page(7)), watches)) as run:
        await run.sink.until(lambda: "d" in run.sink.objects)
        await run.clock.advance(74.9)
        assert len(run.watches()) == 1
        await run.clock.advance(0.2)
        await run.sink.until(lambda: "e" in run.sink.objects)
        assert run.watches()[1]["resourceVersion"] == "8"
        assert len(run.lists()) == 1


async def test_a_byte_in_time_keeps_the_watch() -> None:
    send = asyncio.Event()

    async def watches(exchange: Exchange) -> None:
        await exchange.begin()
        await send.wait()
        await exchange.chunk(event("BOOKMARK", 50, ""))
        await exchange.hang()

    async with running(routes(replies(200, page(7)), watches)) as run:
        await eventually(lambda: run.clock.sleepers == 1)
        await run.clock.advance(70)
        send.set()
        await run.until_calls("lines 50")
        await run.clock.advance(70)
        assert len(run.watches()) == 1
        await run.clock.advance(6)
        await eventually(lambda: len(run.watches()) == 2)


async def test_events_with_older_versions_do_not_move_the_version_back() -> None:
    watches = script(
        watch_of(event("ADDED", 30, "x"), then="end"),
        watch_of(event("ADDED", 20, "y"), then="end"),
        watch_of(),
    )
    async with running(routes(replies(200, page(7)), watches)) as run:
        await eventually(lambda: len(run.watches()) == 3)
        assert [query["resourceVersion"] for query in run.watches()] == ["7", "30", "30"]


@pytest.mark.parametrize("code", [401, 403])
async def test_what_is_refused_is_named_and_retried_slowly(
    code: int, caplog: pytest.LogCaptureFixture
) -> None:
    refused = replies(code, status_body(code, "Forbidden", "may not list pods"))
    soon = REFUSED_SOON_MAX  # a server that starts refuses for a moment
    lists = script(*[refused] * (soon + 1), replies(200, page(7, "a")))
    async with running(routes(lists, watch_of())) as run:
        await eventually(lambda: run.clock.sleepers == 1)
        await run.clock.advance(15)
        await eventually(lambda: run.informer.statistics().failures == soon + 1)
        assert str(code) in run.informer.statistics().last_error
        assert not run.informer.statistics().synced
        await run.clock.advance(20)
        assert len(run.lists()) == soon + 1
        await run.clock.advance(12)
        await run.informer.wait_synced()
        assert run.informer.statistics().last_error == ""
    assert "cannot list pods: " in caplog.text


async def test_a_page_too_large_is_asked_for_in_halves(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kpolicy.cluster.watch.listing.PAGE_BYTES_MAX", 1000)
    lists = script(replies(200, page(7, *map(str, range(100)))), replies(200, page(7, "a")))
    async with running(routes(lists, watch_of())) as run:
        await run.sink.until(lambda: run.sink.objects == {"a": "7"})
        assert [asked["limit"] for asked in run.lists()] == ["500", "250"]


async def test_the_server_away_for_long_costs_no_list() -> None:
    away = True

    async def watches(exchange: Exchange) -> None:
        if away:
            exchange.cut()
        else:
            await watch_of(event("ADDED", 9, "z"))(exchange)

    async with running(routes(replies(200, page(7)), watches)) as run:
        for _ in range(20):
            await run.pass_backoff()
        away = False
        await run.pass_backoff()
        await run.sink.until(lambda: "z" in run.sink.objects)
        assert len(run.lists()) == 1
        assert run.informer.statistics().failures == 21
