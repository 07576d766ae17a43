"""A write that may no longer be sent when its connection is there is not sent, also by a proxy."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace

import pytest

from kpolicy.clock import SystemClock
from kpolicy.cluster.api import ApiClient, Response
from kpolicy.cluster.fenced_request import FENCED
from kpolicy.cluster.request_failure import Failure
from kpolicy.cluster.writes.binder import Binder, Binding, Fenced
from tests.unit.cluster.canned import CannedServer, Exchange, canned_server
from tests.unit.cluster.doubles import connection

BINDING = Binding("ns", "pod", "uid", "node")


async def accept(exchange: Exchange) -> None:
    await exchange.answer(201)


def client_of(server: CannedServer, *, is_proxied: bool) -> ApiClient:
    to = connection(server.url)
    if is_proxied:
        to = replace(connection("http://api.example:80"), proxy=server.url)
    return ApiClient(to, SystemClock())


async def post(api: ApiClient, may_send: Callable[[], bool]) -> Response | Failure:
    return await api.request("POST", "/a", body=b"{}", may_send=may_send)


@pytest.mark.parametrize("is_proxied", [False, True], ids=["direct", "proxied"])
async def test_what_may_not_be_sent_is_not_sent_on_a_new_or_a_kept_connection(
    is_proxied: bool,
) -> None:
    async with canned_server(accept) as server, client_of(server, is_proxied=is_proxied) as api:
        assert await post(api, lambda: False) == FENCED
        assert server.asked == []
        assert isinstance(await post(api, lambda: True), Response)
        assert await post(api, lambda: False) == FENCED
        assert isinstance(await api.request("POST", "/b", body=b"{}"), Response)
        assert [asked.verb for asked in server.asked] == ["POST", "POST"]


@pytest.mark.parametrize("is_proxied", [False, True], ids=["direct", "proxied"])
async def test_concurrent_writes_ask_each_its_own_question(
    is_proxied: bool,
) -> None:
    async with canned_server(accept) as server, client_of(server, is_proxied=is_proxied) as api:
        questions = [lambda: False, lambda: True] * 5
        answers = await asyncio.gather(*(post(api, question) for question in questions))
        assert [answer == FENCED for answer in answers] == [True, False] * 5
        assert len(server.asked) == 5


@pytest.mark.parametrize("is_proxied", [False, True], ids=["direct", "proxied"])
async def test_a_bind_whose_lease_ends_while_it_connects_is_not_sent(
    is_proxied: bool,
) -> None:
    leads = iter([True])  # when the bind begins, and not when it is sent
    async with canned_server(accept) as server, client_of(server, is_proxied=is_proxied) as api:
        binder = Binder(api, SystemClock(), lambda: next(leads, False))
        assert await binder.bind(BINDING) == Fenced()
        assert server.asked == []
