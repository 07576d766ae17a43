"""Which requests may read the served pages, over sockets with and without TLS."""

from __future__ import annotations

import asyncio
import ssl
from pathlib import Path

import aiohttp
import pytest

from kpolicy.telemetry.access import (
    Guard,
    NotConfigured,
    Open,
    ServedCertificate,
    TokenFile,
    is_loopback,
)
from kpolicy.telemetry.health_checks import Check, Checks
from kpolicy.telemetry.health_server import HttpServer, Listener, Page, Served
from kpolicy.telemetry.metrics import Registry
from tests.unit.cluster import certificates as pem
from tests.unit.telemetry.test_health_server import free_port, serving

OPEN = ("/healthz", "/livez", "/readyz", "/readyz/ping")
GUARDED = ("/metrics", "/configz", "/debug/page")
TOKEN = "a-token-of-some-length"


def server(guard: Guard, tls: ssl.SSLContext | None = None) -> HttpServer:
    async def page(_: object) -> Page:
        return Page("a page\n")

    ping = Check("ping", lambda: "")
    checks = Checks([ping], [ping], [ping])
    return HttpServer(
        Listener("127.0.0.1", free_port(), tls, guard),
        Served(Registry(), checks, dict, pages={"/debug/page": page}),
    )


async def statuses(
    served: HttpServer, token: str = "", tls: ssl.SSLContext | bool = True
) -> dict[str, int]:
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    found = {}
    async with aiohttp.ClientSession(headers=headers) as session:
        for path in (*OPEN, *GUARDED):
            async with session.get(served.url + path, ssl=tls) as answer:
                found[path] = answer.status
                if answer.status == 401:
                    assert answer.headers["WWW-Authenticate"] == "Bearer"
    assert {found[path] for path in OPEN} == {200}, "health is always open"
    return {path: found[path] for path in GUARDED}


def all_of(status: int) -> dict[str, int]:
    return dict.fromkeys(GUARDED, status)


async def test_on_this_machine_all_is_open_and_elsewhere_nothing_but_health() -> None:
    for guard, status in ((Open(), 200), (NotConfigured(), 403)):
        served = server(guard)
        async with serving(served):
            assert await statuses(served) == all_of(status)
    refusal = await NotConfigured().refuse("", "get", "/metrics")
    assert refusal is not None
    for flag in ("--auth", "--auth-token-file", "--tls-cert-file", "--bind-address"):
        assert flag in refusal.text


async def test_a_token_of_a_file_that_changes(tmp_path: Path) -> None:
    path = tmp_path / "token"
    path.write_text(TOKEN + "\n")
    served = server(TokenFile(path))
    async with serving(served):
        assert await statuses(served) == all_of(401)
        assert await statuses(served, "another-token-of-that-length") == all_of(401)
        assert await statuses(served, TOKEN) == all_of(200)
        path.write_text("renewed-" + TOKEN)
        assert await statuses(served, TOKEN) == all_of(401)
        assert await statuses(served, "renewed-" + TOKEN) == all_of(200)
        path.write_text("")
        assert await statuses(served, TOKEN) == all_of(403)


def test_a_file_without_a_token_is_reported(tmp_path: Path) -> None:
    assert "cannot read" in TokenFile(tmp_path / "none").problem()
    (tmp_path / "short").write_text("abc")
    assert "less than" in TokenFile(tmp_path / "short").problem()
    (tmp_path / "good").write_text(TOKEN)
    assert TokenFile(tmp_path / "good").problem() == ""


@pytest.mark.parametrize(
    ("address", "is_own"),
    [
        ("127.0.0.1", True),
        ("127.9.9.9", True),
        ("::1", True),
        ("localhost", True),
        ("0.0.0.0", False),
        ("::", False),
        ("10.0.0.1", False),
        ("example.com", False),
    ],
)
def test_which_addresses_are_this_machine(address: str, is_own: bool) -> None:
    assert is_loopback(address) is is_own


def write(folder: Path, certificate: bytes, key: bytes) -> tuple[Path, Path]:
    paths = folder / "tls.crt", folder / "tls.key"
    for path, content in zip(paths, (certificate, key), strict=True):
        path.write_bytes(content)
    return paths


def served_name(port: int) -> str:
    """The common name of the certificate that is served now."""
    context = trusting()
    import socket

    with (
        socket.create_connection(("127.0.0.1", port), 5) as raw,
        context.wrap_socket(raw, server_hostname="127.0.0.1") as connection,
    ):
        certificate = connection.getpeercert()
        assert certificate is not None
        subject = certificate["subject"]
        return str(dict(pair for part in subject for pair in part)["commonName"])  # type: ignore[misc]


def trusting() -> ssl.SSLContext:
    return ssl.create_default_context(cadata=pem.AUTHORITY.decode())


async def test_tls_and_a_certificate_that_is_renewed_on_disk(tmp_path: Path) -> None:
    paths = write(tmp_path, pem.SERVER, pem.SERVER_KEY)
    certificate = ServedCertificate(*paths)
    assert certificate.load() == ""
    served = server(Open(), certificate.context)
    port = int(served.url.rpartition(":")[2])
    async with serving(served):
        assert served.url.startswith("https://")
        assert await statuses(served, tls=trusting()) == all_of(200)
        assert await asyncio.to_thread(served_name, port) == "server"
        write(tmp_path, pem.ALICE, pem.SERVER_KEY)  # half of a renewal
        assert "cannot be used together" in certificate.load()
        assert await asyncio.to_thread(served_name, port) == "server"
        write(tmp_path, pem.ALICE, pem.ALICE_KEY)
        assert certificate.load() == ""
        assert certificate.renewals == 1
        assert await asyncio.to_thread(served_name, port) == "alice"
        old = trusting()
        with pytest.warns(DeprecationWarning, match="TLSv1_1"):
            old.maximum_version = ssl.TLSVersion.TLSv1_1
        with pytest.raises(aiohttp.ClientError):
            await statuses(served, tls=old)


def test_a_pair_that_cannot_be_served_is_reported(tmp_path: Path) -> None:
    assert "cannot read" in ServedCertificate(tmp_path / "a", tmp_path / "b").load()
    paths = write(tmp_path, b"no certificate", pem.SERVER_KEY)
    assert "cannot be used together" in ServedCertificate(*paths).load()
