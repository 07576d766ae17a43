"""One line says what is wrong with the connection to the API server, and what to do."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Awaitable, Callable
from pathlib import Path
from random import Random

import pytest

from kpolicy.api_times import NANOSECONDS
from kpolicy.clock import SystemClock
from kpolicy.cluster.api import ApiClient, Response
from kpolicy.cluster.auth.connection import TokenFileAuthorization
from kpolicy.cluster.auth.tls import TlsMaterial, TlsSource
from kpolicy.cluster.connection_problem import ConnectionProblem
from kpolicy.cluster.limits import START_PATIENCE_S, START_RETRY_S_MAX
from kpolicy.cluster.probe import Backoff, Patience, ServerVersion, probe, served
from kpolicy.cluster.request_failure import (
    Cause,
    Failure,
    Status,
    TimedOut,
    Unreachable,
)
from kpolicy.cluster.watch.resource import Resource
from kpolicy.testing import ControlPlane
from tests.manual_clock import ManualClock
from tests.unit.cluster import certificates as pem
from tests.unit.cluster.canned import Exchange, Handler, canned_server, replies, script, status_body
from tests.unit.cluster.doubles import client, connection

GOOD = Response(200, {}, b"{}")
REFUSED = Unreachable(Cause.REFUSED, "refused", sent=False)
BUSY = Status(429, "TooManyRequests", "busy")


class Answers:
    """The failures one after the other, the last for ever unless it is a response."""

    def __init__(self, *answers: Response | Failure) -> None:
        self._answers = list(answers)
        self.asked = 0

    async def __call__(self) -> Response | Failure:
        self.asked += 1
        return self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]


def patience(clock: ManualClock) -> Patience:
    return Patience(clock, Random(1))


def seconds(clock: ManualClock) -> float:
    return clock.monotonic_ns() / NANOSECONDS


@pytest.mark.parametrize(
    "failure",
    [REFUSED, BUSY, Status(503, "", "no"), TimedOut(10), Unreachable(Cause.LOST, "cut", sent=True)],
    ids=str,
)
async def test_what_may_pass_is_waited_for(failure: Failure) -> None:
    clock = ManualClock(auto_jump=True)
    answers = Answers(failure, failure, failure, GOOD)
    assert await patience(clock).ask(answers) == GOOD
    assert answers.asked == 4
    assert 3 * 0.8 <= seconds(clock) <= 3 * START_RETRY_S_MAX


@pytest.mark.parametrize(
    "failure",
    [
        Status(401, "", ""),
        Status(403, "", ""),
        Status(404, "", ""),
        Unreachable(Cause.NAME, "no such name", sent=False),
        Unreachable(Cause.TLS, "unknown authority", sent=False),
        Unreachable(Cause.CREDENTIALS, "KPC111", sent=False),
    ],
    ids=repr,
)
async def test_a_lasting_failure_is_reported_at_once(failure: Failure) -> None:
    clock = ManualClock(auto_jump=True)
    answers = Answers(failure)
    assert await patience(clock).ask(answers) == failure
    assert (answers.asked, seconds(clock)) == (1, 0)


async def test_it_ends_in_time_and_with_a_last_try() -> None:
    clock = ManualClock(auto_jump=True)
    waiting = patience(clock)
    answers = Answers(REFUSED)
    assert await waiting.ask(answers) == REFUSED
    assert seconds(clock) == START_PATIENCE_S
    assert answers.asked >= START_PATIENCE_S / START_RETRY_S_MAX
    # The time is that of the start as a whole, not of each question.
    again = Answers(REFUSED)
    assert await waiting.ask(again) == REFUSED
    assert again.asked == 1


async def test_a_server_that_asks_for_more_time_gets_it() -> None:
    clock = ManualClock(auto_jump=True)
    answers = Answers(Status(429, "", "busy", retry_after_s=7), GOOD)
    assert await patience(clock).ask(answers) == GOOD
    assert 7 <= seconds(clock) < 8


async def test_once_started_nothing_is_waited_for() -> None:
    clock = ManualClock(auto_jump=True)
    waiting = patience(clock)
    waiting.end()
    answers = Answers(REFUSED, GOOD)
    assert await waiting.ask(answers) == REFUSED


async def test_it_says_what_it_waits_for(caplog: pytest.LogCaptureFixture) -> None:
    clock = ManualClock(auto_jump=True)
    waiting = patience(clock)
    reasons: list[str] = []
    answers = Answers(BUSY, REFUSED, REFUSED, GOOD)

    def listening() -> Callable[[], Awaitable[Response | Failure]]:
        async def ask() -> Response | Failure:
            reasons.append(waiting.waits_for)
            return await answers()

        return ask

    with caplog.at_level("INFO"):
        await waiting.ask(listening())
    assert reasons == ["", str(BUSY), str(REFUSED), str(REFUSED)]
    assert waiting.waits_for == ""
    lines = [record.getMessage() for record in caplog.records]
    assert len(lines) == 3, "expected each reason once, and the end"
    assert lines[0] == f"waiting for the API server, for at most 30 s more: {BUSY}"
    assert str(REFUSED) in lines[1]


ALMOST_ONE = 1 - 1e-12


def waits(chance: float, count: int, apart_s: int = 1) -> list[float]:
    backoff, out = Backoff(), []
    for number in range(count):
        wait = backoff.failed(number * apart_s * NANOSECONDS, chance)
        backoff = wait.backoff
        out.append(wait.seconds)
    return out


def test_the_ceiling_doubles_from_the_first_step_to_the_cap() -> None:
    assert waits(ALMOST_ONE, 8) == pytest.approx([1.6, 3.2, 6.4, 12.8, 25.6, 30, 30, 30])


def test_the_floor_is_the_first_wait_at_every_step() -> None:
    assert waits(0.0, 6) == [0.8] * 6


def test_two_minutes_without_a_failure_start_it_over() -> None:
    assert waits(ALMOST_ONE, 4, apart_s=120) == pytest.approx([1.6] * 4)
    assert waits(ALMOST_ONE, 4, apart_s=119) == pytest.approx([1.6, 3.2, 6.4, 12.8])


def test_retry_after_is_the_least_and_is_spread_as_well() -> None:
    assert Backoff().failed(0, 0.0, at_least_s=5).seconds == 5
    assert 5 < Backoff().failed(0, 0.5, at_least_s=5).seconds < 5.8
    assert Backoff(step=6).failed(0, 0.5, at_least_s=1).seconds == pytest.approx(15.4)


def test_ten_thousand_failures_overflow_nothing() -> None:
    assert Backoff(step=10_000).ceiling_s() == 30


PODS = Resource("pods", "/api/v1/pods")
VERSION = replies(200, b'{"gitVersion":"v1.37.0-x","major":"1","minor":"37+"}')


async def hang(exchange: Exchange) -> None:
    await exchange.hang()


async def cut(exchange: Exchange) -> None:
    exchange.cut()


def forbidden(message: str) -> Handler:
    return replies(403, status_body(403, "Forbidden", message))


async def test_the_probe_returns_the_version() -> None:
    async with canned_server(script(VERSION, replies(200))) as server, client(server.url) as api:
        assert await probe(api, [PODS]) == ServerVersion("v1.37.0-x", 1, 37)
        assert server.paths("GET") == ["/version", "/api/v1/pods"]


async def test_the_newest_version_of_a_resource_that_is_served_is_found() -> None:
    rules = Resource("rules", "/apis/g/v1/rules", older_paths=("/apis/g/v1beta2/rules",))
    lacks = replies(404, b"404 page not found")
    answers = script(VERSION, lacks, VERSION, replies(200))
    async with canned_server(answers) as server, client(server.url) as api:
        assert await served(api, rules) == Resource("rules", "/apis/g/v1beta2/rules")
    answers = script(VERSION, lacks, VERSION, lacks)
    async with canned_server(answers) as server, client(server.url) as api:
        found = await served(api, rules)
    assert isinstance(found, ConnectionProblem)
    assert found.code == "KPC209"


async def test_the_embedded_control_plane_passes() -> None:
    async with ControlPlane() as control_plane, client(control_plane.url) as api:
        version = await probe(api, [PODS, Resource("nodes", "/api/v1/nodes")])
        assert isinstance(version, ServerVersion)
        assert version.major == 1


@pytest.mark.parametrize(
    ("answers", "code", "words"),
    [
        (replies(401, status_body(401, "Unauthorized", "Unauthorized")), "KPC204", "credentials"),
        (forbidden("cannot get /version"), "KPC205", "cannot get /version"),
        (script(VERSION, forbidden("cannot list pods")), "KPC205", "cannot list pods: 'test' may"),
        (replies(404, b"404 page not found"), "KPC209", "does not serve it"),
        (replies(200, b"<html>hello</html>"), "KPC207", "not as a Kubernetes API server"),
        (replies(200, b"[]"), "KPC207", "not as a Kubernetes API server"),
        (replies(200, b'{"gitVersion":"v","major":"","minor":""}'), "KPC207", "not as a"),
        (replies(502, b"bad gateway"), "KPC208", "502"),
        (
            replies(400, b"Client sent an HTTP request to an HTTPS server."),
            "KPC203",
            "speaks TLS",
        ),
        (hang, "KPC206", "no answer within"),
        (cut, "KPC208", "disconnected"),
    ],
)
async def test_what_is_wrong_has_a_code_a_line_and_mostly_a_hint(
    answers: Handler, code: str, words: str
) -> None:
    async with canned_server(answers) as server, client(server.url) as api:
        found = await probe(api, [PODS], timeout_s=0.2)
    assert isinstance(found, ConnectionProblem)
    assert found.code == code
    assert words in found.message
    assert "\n" not in str(found)


async def test_a_port_without_a_listener() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
        async with client(f"http://127.0.0.1:{port}") as api:
            found = await probe(api)
    assert isinstance(found, ConnectionProblem)
    assert found.code == "KPC201"
    assert f"nothing answers at http://127.0.0.1:{port}" in found.message


async def test_no_such_name() -> None:
    async with client("http://no-such-host.invalid") as api:
        found = await probe(api)
    assert isinstance(found, ConnectionProblem)
    assert found.code == "KPC202"


async def test_another_authority(tmp_path: Path) -> None:
    (tmp_path / "server.pem").write_bytes(pem.SERVER + pem.SERVER_KEY)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "server.pem")
    tls = TlsMaterial.load(TlsSource(pem.OTHER_AUTHORITY))
    assert isinstance(tls, TlsMaterial)
    async with (
        canned_server(VERSION, context) as server,
        ApiClient(connection(server.url, tls=tls), SystemClock()) as api,
    ):
        found = await probe(api)
    assert isinstance(found, ConnectionProblem)
    assert found.code == "KPC203"
    assert "certificate-authority" in found.hint


async def test_a_token_that_cannot_be_read() -> None:
    authorization = TokenFileAuthorization(Path("/no/such/token"), ManualClock())
    async with ApiClient(connection("http://127.0.0.1:1", authorization), SystemClock()) as api:
        found = await probe(api)
    assert isinstance(found, ConnectionProblem)
    assert found.code == "KPC204"
    assert "/no/such/token" in found.message
