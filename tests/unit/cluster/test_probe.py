"""One clear line on what is wrong with the way to the API server, and what to do."""

from __future__ import annotations

import socket
import ssl
from pathlib import Path

import pytest

from kpolicy.clock import ManualClock, SystemClock
from kpolicy.cluster.api import ApiClient
from kpolicy.cluster.auth.connection import TokenFileAuthorization
from kpolicy.cluster.auth.tls import TlsMaterial, TlsSource
from kpolicy.cluster.connection_problem import ConnectionProblem
from kpolicy.cluster.probe import ServerVersion, probe
from kpolicy.cluster.watch.resource import Resource
from kpolicy.testing import ControlPlane
from tests.unit.cluster import certificates as pem
from tests.unit.cluster.canned import Exchange, Handler, canned_server, replies, script, status_body
from tests.unit.cluster.doubles import client, connection

PODS = Resource("pods", "/api/v1/pods")
VERSION = replies(200, b'{"gitVersion":"v1.37.0-x","major":"1","minor":"37+"}')


async def hang(exchange: Exchange) -> None:
    await exchange.hang()


async def cut(exchange: Exchange) -> None:
    exchange.cut()


def forbidden(message: str) -> Handler:
    return replies(403, status_body(403, "Forbidden", message))


async def test_the_version_is_told() -> None:
    async with canned_server(script(VERSION, replies(200))) as server, client(server.url) as api:
        assert await probe(api, [PODS]) == ServerVersion("v1.37.0-x", 1, 37)
        assert server.paths("GET") == ["/version", "/api/v1/pods"]


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


async def test_nobody_listening() -> None:
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
