"""Credentials are read again, renewed before they expire, and renewed once at a time."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from kpolicy.api_times import NANOSECONDS
from kpolicy.cluster.auth.connection import (
    RenewedAuthorization,
    TokenFileAuthorization,
    auth_provider_fetch,
    read_token,
)
from kpolicy.cluster.auth.exec_plugin import Credential
from kpolicy.cluster.connection_problem import ConnectionProblem
from tests.manual_clock import ManualClock
from tests.unit.cluster.doubles import eventually

WRONG = ConnectionProblem("KPC111", "no")


async def test_a_token_file_is_read_again_each_minute(tmp_path: Path) -> None:
    clock, path = ManualClock(), tmp_path / "token"
    path.write_text("one\n")
    authorization = TokenFileAuthorization(path, clock)
    assert await authorization.header() == "Bearer one"
    path.write_text("two")
    await clock.advance(59)
    assert await authorization.header() == "Bearer one"
    await clock.advance(2)
    assert await authorization.header() == "Bearer two"


async def test_a_refused_token_is_read_again_at_once(tmp_path: Path) -> None:
    path = tmp_path / "token"
    path.write_text("one")
    authorization = TokenFileAuthorization(path, ManualClock())
    await authorization.header()
    path.write_text("two")
    authorization.refused()
    assert await authorization.header() == "Bearer two"


async def test_a_token_file_that_vanishes_leaves_the_last_token_in_use(tmp_path: Path) -> None:
    clock, path = ManualClock(), tmp_path / "token"
    path.write_text("one")
    authorization = TokenFileAuthorization(path, clock)
    await authorization.header()
    path.unlink()
    await clock.advance(61)
    assert await authorization.header() == "Bearer one"


@pytest.mark.parametrize("content", [b"", b"\n", b"two\nlines", b"\xff", b"x" * (2 << 20)])
def test_a_file_without_a_token_is_a_problem(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "token"
    path.write_bytes(content)
    wrong = read_token(path)
    assert isinstance(wrong, ConnectionProblem)
    assert wrong.code == "KPC109"


class Source:
    """Gives what it is told, counts, and waits when told."""

    def __init__(self, clock: ManualClock, lasts_s: float = 300) -> None:
        self.clock = clock
        self.lasts_s = lasts_s
        self.fetched = self.ended = 0
        self.wrong = False
        self.open = asyncio.Event()
        self.open.set()

    async def __call__(self) -> Credential | ConnectionProblem:
        self.fetched += 1
        number = self.fetched
        try:
            await self.open.wait()
        finally:
            self.ended += 1
        if self.wrong:
            return WRONG
        ends_ns = self.clock.now_ns() + round(self.lasts_s * NANOSECONDS)
        return Credential(f"t{number}", None, ends_ns)


async def test_it_is_renewed_ahead_of_its_end_while_requests_go_on() -> None:
    clock = ManualClock()
    source = Source(clock)
    authorization = RenewedAuthorization(source, clock)
    assert await authorization.header() == "Bearer t1"
    async with authorization.renewing():
        await clock.advance(239)
        assert await authorization.header() == "Bearer t1"
        assert source.fetched == 1
        source.open.clear()
        await clock.advance(2)
        for _ in range(10):
            assert await authorization.header() == "Bearer t1"
        await clock.settle()
        assert source.fetched == 2
        source.open.set()
        await clock.settle()
        assert await authorization.header() == "Bearer t2"


async def test_many_that_need_it_wait_for_one_fetch() -> None:
    clock = ManualClock()
    source = Source(clock)
    source.open.clear()
    authorization = RenewedAuthorization(source, clock)
    async with authorization.renewing():
        waiting = [asyncio.create_task(authorization.header()) for _ in range(20)]
        await clock.settle()
        source.open.set()
        assert await asyncio.gather(*waiting) == ["Bearer t1"] * 20
    assert source.fetched == 1


async def test_one_that_gives_up_does_not_end_the_fetch_for_the_others() -> None:
    clock = ManualClock()
    source = Source(clock)
    source.open.clear()
    authorization = RenewedAuthorization(source, clock)
    async with authorization.renewing():
        first, second = (asyncio.create_task(authorization.header()) for _ in range(2))
        await clock.settle()
        first.cancel()
        source.open.set()
        assert await second == "Bearer t1"
    assert source.fetched == 1


async def test_a_fetch_under_way_ends_with_the_client() -> None:
    clock = ManualClock()
    source = Source(clock)
    authorization = RenewedAuthorization(source, clock)
    await authorization.header()
    source.open.clear()
    async with authorization.renewing():
        await clock.advance(250)
        await authorization.header()
        await clock.settle()
    assert (source.fetched, source.ended) == (2, 2)


async def test_what_a_fetch_raises_is_not_lost() -> None:
    clock = ManualClock()

    async def broken() -> Credential:
        if clock.now_ns() >= began_ns + 250 * NANOSECONDS:
            raise RuntimeError("a bug")
        return Credential("t", None, began_ns + 300 * NANOSECONDS)

    began_ns = clock.now_ns()
    authorization = RenewedAuthorization(broken, clock)

    async def serve() -> None:
        async with authorization.renewing():
            await authorization.header()
            await clock.advance(250)
            assert await authorization.header() == "Bearer t"
            await clock.sleep(1)

    with pytest.raises(RuntimeError, match="a bug"):
        await serve()


async def test_a_failed_fetch_is_a_problem_and_is_not_repeated_at_once() -> None:
    clock = ManualClock()
    source = Source(clock)
    source.wrong = True
    authorization = RenewedAuthorization(source, clock)
    for _ in range(10):
        assert await authorization.header() == WRONG
    assert source.fetched == 1
    source.wrong = False
    await clock.advance(5)
    assert await authorization.header() == "Bearer t2"


async def test_a_failed_renewal_does_no_harm_while_the_old_token_is_valid() -> None:
    clock = ManualClock()
    source = Source(clock)
    authorization = RenewedAuthorization(source, clock)
    async with authorization.renewing():
        await authorization.header()
        source.wrong = True
        await clock.advance(250)
        assert await authorization.header() == "Bearer t1"
        await eventually(lambda: source.fetched == 2)
        await clock.advance(51)
        assert await authorization.header() == WRONG


async def test_a_refused_token_is_fetched_again_unless_it_is_fresh() -> None:
    clock = ManualClock()
    source = Source(clock)
    authorization = RenewedAuthorization(source, clock)
    await authorization.header()
    authorization.refused()
    assert await authorization.header() == "Bearer t1"
    await clock.advance(10)
    authorization.refused()
    assert await authorization.header() == "Bearer t2"


async def test_an_auth_provider_goes_through_the_kubernetes_package() -> None:
    # An id-token whose end is far away: {"exp": 4102444800}.
    token = "e30.eyJleHAiOiA0MTAyNDQ0ODAwfQ.x"
    user = {"auth-provider": {"name": "oidc", "config": {"id-token": token}}}
    credential = await auth_provider_fetch(user, "c", ManualClock())()
    assert isinstance(credential, Credential), credential
    assert credential.token == token


@pytest.mark.parametrize(
    "provider", [{"name": "oidc"}, {"name": "oidc", "config": {"id-token": "x"}}, {"name": "new"}]
)
async def test_an_auth_provider_that_fails_is_a_problem(provider: dict[str, object]) -> None:
    wrong = await auth_provider_fetch({"auth-provider": provider}, "c", ManualClock())()
    assert isinstance(wrong, ConnectionProblem)
    assert wrong.code == "KPC112"
