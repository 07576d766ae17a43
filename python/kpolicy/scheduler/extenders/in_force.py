"""The extenders of the program in force: a client for each, and their replacement at a reload.

A replacement comes between decisions. Messages of failures are those of kube-scheduler.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from kpolicy.clock import Clock
from kpolicy.cluster.api import ApiClient, Response
from kpolicy.cluster.auth.connection import Connection, FixedAuthorization
from kpolicy.cluster.auth.tls import TlsMaterial, TlsSource
from kpolicy.cluster.connection_problem import ConnectionProblem
from kpolicy.cluster.request_failure import Cause, Failure, Status, TimedOut, Unreachable
from kpolicy.policy.assembly.program import Program
from kpolicy.policy.models.scheduling_policy import Extender, ExtenderTls
from kpolicy.scheduler import limits
from kpolicy.scheduler.problem_codes import EXTENDER_UNUSABLE, FINDINGS, Problem


@dataclass(frozen=True, slots=True, eq=False)
class Extenders:
    """Of one program. A profile that is not here asks nobody."""

    by_profile: Mapping[str, tuple[ExtenderClient, ...]] = field(default_factory=dict)

    @property
    def clients(self) -> list[ExtenderClient]:
        return [client for own in self.by_profile.values() for client in own]

    @property
    def managed(self) -> list[str]:
        """Resources that decide who is asked."""
        return sorted({name for client in self.clients for name in client.managed})

    @classmethod
    def of(cls, program: Program, clock: Clock) -> Extenders | Problem:
        """Or why one cannot be used."""
        by_profile = {}
        for profile in program.profiles:
            clients = []
            for extender in profile.extenders:
                client = ExtenderClient.of(extender, clock)
                if isinstance(client, Problem):
                    return client
                clients.append(client)
            if clients:
                by_profile[profile.scheduler_name] = in_order(clients)
        return cls(by_profile)


class ExtendersInForce:
    """`now` is what decisions go by. Replaced ones are closed after their answers may have come."""

    def __init__(self, clock: Clock, group: asyncio.TaskGroup) -> None:
        self.now = Extenders()
        self._clock = clock
        self._group = group
        self._before: Counter[tuple[str, ...]] = Counter()

    def replace(self, extenders: Extenders) -> None:
        before, self.now = self.now, extenders
        self._before = Counter(self.counts())
        if before.clients:
            self._group.create_task(self._close(before), name="replaced extenders")

    def counts(self) -> dict[tuple[str, ...], float]:
        """Calls by extender, verb and result, since the start."""
        counts = Counter(self._before)
        for client in self.now.clients:
            for key, count in client.counts.items():
                counts[client.name, *key] += count
        return dict(counts)

    async def close(self) -> None:
        for client in self.now.clients:
            await client.close()

    async def _close(self, extenders: Extenders) -> None:
        try:
            await self._clock.sleep(limits.EXTENDER_CLOSE_S)
        finally:  # also where the scheduler stops sooner
            for client in extenders.clients:
                await client.close()


_OK: Final = 200
_PART: Final = re.compile(r"([0-9]+(?:\.[0-9]+)?)(ns|us|ms|s|m|h)")
_SECONDS: Final = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}


@dataclass(frozen=True, slots=True)
class Failed:
    """It gave no answer; `message` as kube-scheduler tells it. `is_lost`: it may have acted."""

    message: str
    is_lost: bool = False


class ExtenderClient:
    def __init__(self, extender: Extender, api: ApiClient) -> None:
        self.extender = extender
        self.url = extender.url_prefix.rstrip("/")
        self.managed = frozenset(resource.name for resource in extender.managed_resources)
        self.counts: Counter[tuple[str, str]] = Counter()  # by verb and result
        self._api = api
        self._timeout_s = seconds(extender.http_timeout) or limits.EXTENDER_TIMEOUT_S

    @classmethod
    def of(cls, extender: Extender, clock: Clock) -> ExtenderClient | Problem:
        """Or why its certificates cannot be used."""
        tls = _tls(extender)
        if isinstance(tls, ConnectionProblem):
            text = f"the extender at {extender.url_prefix} cannot be used: {tls.message}"
            return Problem(EXTENDER_UNUSABLE, text, tls.hint, FINDINGS)
        settings = extender.tls_config or ExtenderTls()
        connection = Connection(
            server=extender.url_prefix.rstrip("/"),
            authorization=FixedAuthorization(),
            namespace="",
            user="",
            source="the policy",
            tls=tls,
            server_name=settings.server_name or None,
        )
        api = ApiClient(connection, clock, connections_max=limits.EXTENDED_PODS_MAX)
        return cls(extender, api)

    @property
    def name(self) -> str:
        return self.extender.name or self.url

    def is_interested(self, requested: frozenset[str]) -> bool:
        """In a pod that requests these of the managed resources."""
        return not self.managed or bool(self.managed & requested)

    async def ask(self, verb: str, body: bytes, *, is_repeatable: bool = True) -> bytes | Failed:
        """The body of its answer. What was lost on the way is asked once more, if that is safe."""
        answer = await self._post(verb, body)
        if is_repeatable and isinstance(answer, Unreachable) and answer.cause is Cause.LOST:
            answer = await self._post(verb, body)
        if isinstance(answer, Response) and answer.status == _OK:
            self.counts[verb, "success"] += 1
            return answer.body
        self.counts[verb, "error"] += 1
        return self._failed(verb, answer)

    async def close(self) -> None:
        await self._api.close()

    async def _post(self, verb: str, body: bytes) -> Response | Failure:
        return await self._api.request(
            "POST",
            f"/{verb}",
            body=body,
            timeout_s=self._timeout_s,
            body_bytes_max=limits.EXTENDER_ANSWER_BYTES_MAX,
        )

    def _failed(self, verb: str, answer: Response | Failure) -> Failed:
        url = f"{self.url}/{verb}"
        match answer:
            case Response(status=code) | Status(code=code):
                return Failed(f"failed {verb} with extender at URL {url}, code {code}")
            case TimedOut(sent=sent):
                why = "context deadline exceeded (Client.Timeout exceeded while awaiting headers)"
                return Failed(f'Post "{url}": {why}', is_lost=sent)
            case Unreachable(cause=Cause.REFUSED):
                address = urlsplit(url).netloc
                why = f"dial tcp {address}: connect: connection refused"
                return Failed(f'Post "{url}": {why}')
            case Unreachable(message=message, sent=sent):
                return Failed(f'Post "{url}": {message}', is_lost=sent)


def in_order(clients: Sequence[ExtenderClient]) -> tuple[ExtenderClient, ...]:
    """Clause: ignorable ones are asked last."""
    return tuple(sorted(clients, key=lambda client: client.extender.ignorable))


def seconds(duration: str) -> float:
    """Go's notation, as the policy's model checked it."""
    return sum(float(number) * _SECONDS[unit] for number, unit in _PART.findall(duration))


def _tls(extender: Extender) -> TlsMaterial | ConnectionProblem | None:
    if urlsplit(extender.url_prefix).scheme != "https":
        return None
    settings = extender.tls_config or ExtenderTls()
    authority = _source(settings.ca_data, settings.ca_file)
    # Clause: who asks for HTTPS and names no authority gets no verification.
    verify = not settings.insecure and (authority is not None or not extender.enable_https)
    certificate = _source(settings.cert_data, settings.cert_file)
    key = _source(settings.key_data, settings.key_file)
    for part in (authority, certificate, key):
        if isinstance(part, ConnectionProblem):
            return part
    return TlsMaterial.load(TlsSource(authority, certificate, key, verify))  # type: ignore[arg-type]


def _source(data: str, file: str) -> bytes | Path | ConnectionProblem | None:
    """Clause: data counts before a file."""
    if not data:
        return Path(file) if file else None
    try:
        return base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError):
        return ConnectionProblem("", "a certificate or key in tlsConfig is not base64")
