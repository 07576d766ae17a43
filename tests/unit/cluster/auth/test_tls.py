"""Certificates are read as PEM and renewed when their files change; problems have messages."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from kpolicy.cluster.api import ApiClient, Response
from kpolicy.cluster.auth.tls import TlsMaterial, TlsSource
from kpolicy.cluster.connection_problem import ConnectionProblem
from kpolicy.cluster.request_failure import (
    Cause,
    Unreachable,
)
from tests.manual_clock import ManualClock
from tests.unit.cluster import certificates as pem
from tests.unit.cluster.canned import Exchange, canned_server
from tests.unit.cluster.doubles import connection


def loaded(source: TlsSource) -> TlsMaterial:
    material = TlsMaterial.load(source)
    assert isinstance(material, TlsMaterial), material
    return material


@asynccontextmanager
async def tls_server(folder: Path) -> AsyncIterator[tuple[str, list[str]]]:
    """Asks for a client certificate and records the names in those it gets."""
    names: list[str] = []

    async def handler(exchange: Exchange) -> None:
        names.append(exchange.client_name)
        await exchange.answer(200)

    async with canned_server(handler, pem.server_context(folder)) as server:
        yield server.url, names


async def test_the_server_is_verified_and_shown_our_certificate(tmp_path: Path) -> None:
    material = loaded(TlsSource(pem.AUTHORITY, pem.ALICE, pem.ALICE_KEY))
    async with (
        tls_server(tmp_path) as (url, names),
        ApiClient(connection(url, tls=material), ManualClock()) as api,
    ):
        assert isinstance(await api.request("GET", "/"), Response)
    assert names == ["alice"]


async def test_a_server_of_another_authority_is_refused(tmp_path: Path) -> None:
    material = loaded(TlsSource(pem.OTHER_AUTHORITY))
    async with (
        tls_server(tmp_path) as (url, _),
        ApiClient(connection(url, tls=material), ManualClock()) as api,
    ):
        answer = await api.request("POST", "/")
    assert isinstance(answer, Unreachable)
    assert (answer.cause, answer.sent) == (Cause.TLS, False)


@pytest.mark.parametrize("body", [None, b"{}"], ids=["read", "write"])
async def test_an_authority_that_was_replaced_is_read_when_the_server_is_not_trusted(
    tmp_path: Path, body: bytes | None
) -> None:
    """Not only a minute later: the clock stands still."""
    authority = tmp_path / "ca.crt"
    authority.write_bytes(pem.OTHER_AUTHORITY)
    material = loaded(TlsSource(authority))
    async with (
        tls_server(tmp_path) as (url, _),
        ApiClient(connection(url, tls=material), ManualClock()) as api,
    ):
        refused = await api.request("POST", "/", body=body)
        assert isinstance(refused, Unreachable)
        authority.write_bytes(pem.AUTHORITY)
        assert isinstance(await api.request("POST", "/", body=body), Response)


async def test_an_authority_that_leaves_the_bundle_is_trusted_for_a_minute_at_most(
    tmp_path: Path,
) -> None:
    bundle = tmp_path / "ca.crt"
    bundle.write_bytes(pem.OTHER_AUTHORITY)
    clock = ManualClock()
    material = loaded(TlsSource(bundle))
    async with (
        tls_server(tmp_path) as (url, _),
        ApiClient(connection(url, tls=material), clock) as api,
    ):
        assert isinstance(await api.request("GET", "/"), Unreachable)
        # As in a rotation: both first, then the new one alone.
        bundle.write_bytes(pem.OTHER_AUTHORITY + pem.AUTHORITY)
        await clock.advance(61)
        for body in (None, b"{}"):
            assert isinstance(await api.request("POST", "/", body=body), Response)
        bundle.write_bytes(b"half of a bund")  # what cannot be read changes nothing
        await clock.advance(61)
        assert isinstance(await api.request("GET", "/"), Response)
        bundle.write_bytes(pem.OTHER_AUTHORITY)
        await clock.advance(61)
        for body in (None, b"{}"):
            answer = await api.request("POST", "/", body=body)
            assert isinstance(answer, Unreachable), answer
            assert answer.cause is Cause.TLS


async def test_verification_can_be_left_out(tmp_path: Path) -> None:
    material = loaded(TlsSource(pem.OTHER_AUTHORITY, verify=False))
    async with (
        tls_server(tmp_path) as (url, _),
        ApiClient(connection(url, tls=material), ManualClock()) as api,
    ):
        assert isinstance(await api.request("GET", "/"), Response)


async def test_a_changed_certificate_is_shown_within_a_minute(tmp_path: Path) -> None:
    certificate, key = tmp_path / "c.crt", tmp_path / "c.key"
    certificate.write_bytes(pem.ALICE)
    key.write_bytes(pem.ALICE_KEY)
    clock = ManualClock()
    material = loaded(TlsSource(pem.AUTHORITY, certificate, key))
    async with (
        tls_server(tmp_path) as (url, names),
        ApiClient(connection(url, tls=material), clock) as api,
    ):
        await api.request("GET", "/")
        certificate.write_bytes(pem.BOB)
        await clock.advance(61)  # half way through a rotation: the old pair stays
        assert isinstance(await api.request("GET", "/"), Response)
        key.write_bytes(pem.BOB_KEY)
        await clock.advance(61)
        await api.request("GET", "/")
        await clock.advance(61)  # the retired session is closed
        await api.request("GET", "/")
    assert names == ["alice", "alice", "bob", "bob"]


def test_an_unchanged_source_keeps_the_context() -> None:
    material = loaded(TlsSource(pem.AUTHORITY))
    context = material.context
    assert material.refresh() is None
    assert material.context is context
    assert material.generation == 0


@pytest.mark.parametrize(
    ("source", "code", "words"),
    [
        (TlsSource(b"junk"), "KPC107", "not a PEM certificate"),
        (TlsSource(Path("/no/such/ca.crt")), "KPC107", "/no/such/ca.crt: No such file"),
        (TlsSource(None, b"junk", b"junk"), "KPC108", "cannot be used"),
        (TlsSource(None, pem.ALICE, pem.BOB_KEY), "KPC108", "cannot be used"),
        (TlsSource(None, Path("/no/such"), pem.BOB_KEY), "KPC108", "/no/such: No such file"),
        (TlsSource(None, Path("/dev/zero"), pem.BOB_KEY), "KPC108", "not a regular file"),
        (TlsSource(Path("/dev/ptmx")), "KPC107", "not a regular file"),
    ],
)
def test_what_cannot_be_used_is_a_problem_of_one_line(
    source: TlsSource, code: str, words: str
) -> None:
    wrong = TlsMaterial.load(source)
    assert isinstance(wrong, ConnectionProblem)
    assert wrong.code == code
    assert words in wrong.message
    assert "\n" not in str(wrong)
