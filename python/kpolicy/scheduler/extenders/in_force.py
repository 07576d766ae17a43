"""The extenders of the program in force: their clients, their replacement, binds through them.

A replacement comes between decisions. An extender's word that it bound a pod is not enough: the pod
is read back from the API server. Messages of failures are those of kube-scheduler.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
from collections import Counter, OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from kpolicy.api_times import NANOSECONDS
from kpolicy.clock import NO_PULSE, Clock, Pulse
from kpolicy.cluster.api import ApiClient, Response
from kpolicy.cluster.auth.connection import Connection, FixedAuthorization
from kpolicy.cluster.auth.tls import TlsMaterial, TlsSource
from kpolicy.cluster.connection_problem import ConnectionProblem
from kpolicy.cluster.fenced_request import always
from kpolicy.cluster.limits import BIND_SENDS_IN_DOUBT_MAX, UNANSWERED_IN_DOUBT_S
from kpolicy.cluster.request_failure import (
    Cause,
    Failure,
    Status,
    TimedOut,
    Unreachable,
)
from kpolicy.cluster.writes.binder import (
    AlreadyOurs,
    Binder,
    Binding,
    BindOutcome,
    Bound,
    Declined,
    Fenced,
    Gone,
    PodUnreadable,
    SettledOutcome,
    Unknown,
    seen_on,
)
from kpolicy.cluster.writes.conventions import pod_path
from kpolicy.policy.assembly.assemble import Program
from kpolicy.policy.models.go_durations import seconds_of
from kpolicy.policy.models.scheduling_policy import Extender, ExtenderTls
from kpolicy.scheduler import limits
from kpolicy.scheduler.extenders.protocol import Unreadable, binding_args, read_binding
from kpolicy.scheduler.loop.pod_try import PodLog
from kpolicy.scheduler.problem_codes import FINDINGS, Problem

_log = PodLog(__name__)


@dataclass(frozen=True, slots=True, eq=False)
class Extenders:
    """The extenders of one program. Profiles that are not in it have no extenders."""

    by_profile: Mapping[str, tuple[ExtenderClient, ...]] = field(default_factory=dict)

    @property
    def clients(self) -> list[ExtenderClient]:
        return [client for own in self.by_profile.values() for client in own]

    @property
    def managed(self) -> list[str]:
        """Extended resources that decide which extenders are asked."""
        return sorted({name for client in self.clients for name in client.managed})

    @classmethod
    def of(cls, program: Program, clock: Clock) -> Extenders | Problem:
        """The extenders, or why one of them cannot be used."""
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
    """`now` has the extenders that decisions use. Replaced extenders are closed when their last
    answers can have arrived."""

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
        finally:  # also if the scheduler stops before that
            for client in extenders.clients:
                await client.close()


@dataclass(frozen=True, slots=True)
class Failed:
    """The extender gave no answer. `message` is kube-scheduler's. `is_lost`: the extender may have
    acted nevertheless."""

    message: str
    is_lost: bool = False


class ExtenderClient:
    def __init__(self, extender: Extender, api: ApiClient) -> None:
        self.extender = extender
        self.url = extender.url_prefix.rstrip("/")
        self.managed = frozenset(resource.name for resource in extender.managed_resources)
        self.counts: Counter[tuple[str, str]] = Counter()  # by verb and result
        self._api = api
        self._timeout_s = seconds_of(extender.http_timeout) or limits.EXTENDER_TIMEOUT_S

    @classmethod
    def of(cls, extender: Extender, clock: Clock) -> ExtenderClient | Problem:
        """The extender, or why its certificates cannot be used."""
        tls = _tls(extender)
        if isinstance(tls, ConnectionProblem):
            text = f"the extender at {extender.url_prefix} cannot be used: {tls.message}"
            return Problem("KPS204", text, tls.hint, FINDINGS)
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
        return cls(extender, ApiClient(connection, clock, connections_max=limits.EXTENDED_PODS_MAX))

    @property
    def bind_s_max(self) -> float:
        """How long a bind may take: the extender's answer, and reading the pod."""
        return self._timeout_s + limits.EXTENDER_BIND_LOOKS_MAX * limits.EXTENDER_TIMEOUT_S

    @property
    def name(self) -> str:
        return self.extender.name or self.url

    def is_interested(self, requested: frozenset[str]) -> bool:
        """Whether the extender is asked about a pod that requests these managed resources."""
        return not self.managed or bool(self.managed & requested)

    async def ask(
        self,
        verb: str,
        body: bytes,
        *,
        is_repeatable: bool = True,
        may_send: Callable[[], bool] = always,
    ) -> bytes | Failed:
        """The body of the answer. A request that was lost is sent once more, if that is safe."""
        answer = await self._post(verb, body, may_send)
        if is_repeatable and isinstance(answer, Unreachable) and answer.cause is Cause.LOST:
            answer = await self._post(verb, body, may_send)
        if isinstance(answer, Response) and answer.status == 200:
            self.counts[verb, "success"] += 1
            return answer.body
        self.counts[verb, "error"] += 1
        return self._failed(verb, answer)

    async def close(self) -> None:
        await self._api.close()

    async def _post(
        self, verb: str, body: bytes, may_send: Callable[[], bool]
    ) -> Response | Failure:
        return await self._api.request(
            "POST",
            f"/{verb}",
            body=body,
            timeout_s=self._timeout_s,
            body_bytes_max=limits.EXTENDER_ANSWER_BYTES_MAX,
            may_send=may_send,
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
                why = f"dial tcp {urlsplit(url).netloc}: connect: connection refused"
                return Failed(f'Post "{url}": {why}')
            case Unreachable(message=message, sent=sent):
                return Failed(f'Post "{url}": {message}', is_lost=sent)


def in_order(clients: Sequence[ExtenderClient]) -> tuple[ExtenderClient, ...]:
    """As in kube-scheduler: ignorable extenders are asked last."""
    return tuple(sorted(clients, key=lambda client: client.extender.ignorable))


def _tls(extender: Extender) -> TlsMaterial | ConnectionProblem | None:
    if urlsplit(extender.url_prefix).scheme != "https":
        return None
    settings = extender.tls_config or ExtenderTls()
    authority = _source(settings.ca_data, settings.ca_file)
    # Without an authority in the policy, those of the system count. kube-scheduler verifies nothing
    # then; the policies that stand for its files say `insecure`.
    verify = not settings.insecure
    certificate = _source(settings.cert_data, settings.cert_file)
    key = _source(settings.key_data, settings.key_file)
    for part in (authority, certificate, key):
        if isinstance(part, ConnectionProblem):
            return part
    return TlsMaterial.load(TlsSource(authority, certificate, key, verify))  # type: ignore[arg-type]


def _source(data: str, file: str) -> bytes | Path | ConnectionProblem | None:
    """As in kube-scheduler: data in the policy has precedence over a file."""
    if not data:
        return Path(file) if file else None
    try:
        return base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError):
        return ConnectionProblem("", "a certificate or key in tlsConfig is not base64")


class ExtenderBinds:
    def __init__(
        self, binder: Binder, client: ApiClient, clock: Clock, fence: Callable[[], bool]
    ) -> None:
        self._binder = binder
        self._client = client
        self._clock = clock
        self._fence = fence
        self._by_uid: OrderedDict[str, list[ExtenderClient]] = OrderedDict()

    def expect(self, uid: str, clients: Sequence[ExtenderClient]) -> None:
        """These extenders are interested in the pod, which has been placed."""
        self._by_uid.pop(uid, None)
        binders = [client for client in clients if client.extender.bind_verb]
        if binders:
            self._by_uid[uid] = binders
        while len(self._by_uid) > limits.EXTENDER_BINDS_EXPECTED_MAX:
            self._by_uid.popitem(last=False)

    def is_by_extender(self, uid: str) -> bool:
        return uid in self._by_uid

    async def bind(
        self, binding: Binding, traceparent: str | None = None, *, pulse: Pulse = NO_PULSE
    ) -> BindOutcome:
        for client in self._by_uid.pop(binding.uid, ()):
            if not self._fence():
                return Fenced()
            pulse.beat(client.bind_s_max)
            outcome = await self._bind_by(client, binding)
            if not (isinstance(outcome, Declined) and client.extender.ignorable):
                return outcome
            _log.info("extender %s is left out: %s", client.name, outcome.message)
        return await self._binder.bind(binding, traceparent, pulse=pulse)

    async def settle(
        self,
        binding: Binding,
        doubt: Unknown,
        traceparent: str | None = None,
        *,
        may_send: bool = True,
    ) -> BindOutcome:
        return await self._binder.settle(binding, doubt, traceparent, may_send=may_send)

    async def _bind_by(self, client: ExtenderClient, binding: Binding) -> BindOutcome:
        args = binding_args(binding.namespace, binding.name, binding.uid, binding.node)
        body = await client.ask(
            client.extender.bind_verb, args, is_repeatable=False, may_send=self._fence
        )
        if isinstance(body, Failed):
            if not body.is_lost:
                return Declined(body.message)
            seen = await self._seen(binding)
            doubt = self._doubt(client, body.message)
            return doubt if seen is None or isinstance(seen, PodUnreadable) else seen
        error = read_binding(body)
        if isinstance(error, str) and error:
            return Declined(error)
        looks_max = limits.EXTENDER_BIND_LOOKS_MAX
        message = f"extender {client.url!r} says it bound the pod; the API server does not"
        if isinstance(error, Unreadable):
            message, looks_max = f"extender {client.url!r}: {error.message}", 1
        seen = await self.confirm(binding, message, looks_max)
        return self._doubt(client, message) if isinstance(seen, PodUnreadable) else seen

    async def confirm(
        self, binding: Binding, message: str, looks_max: int = limits.EXTENDER_BIND_LOOKS_MAX
    ) -> SettledOutcome | PodUnreadable:
        """What the API server shows of a pod that someone else says to have bound; `Declined` with
        this message if it is on no node."""
        seen: SettledOutcome | PodUnreadable | None = None
        for attempt in range(looks_max):
            if attempt:
                await self._clock.sleep(limits.EXTENDER_BIND_LOOK_S * 2**attempt)
            seen = await self._seen(binding)
            if not (seen is None or isinstance(seen, PodUnreadable)):
                return seen
        return Declined(message) if seen is None else seen

    def _doubt(self, client: ExtenderClient, message: str) -> Unknown:
        """The extender may still bind the pod. kpolicy binds it instead only if the extender is
        ignorable."""
        return self.doubt(message, BIND_SENDS_IN_DOUBT_MAX if client.extender.ignorable else 0)

    def doubt(self, message: str, sends: int = 0) -> Unknown:
        """Someone else may still bind the pod. kpolicy sends the bind itself this often."""
        until_ns = self._clock.monotonic_ns() + int(UNANSWERED_IN_DOUBT_S * NANOSECONDS)
        return Unknown(Unreachable(Cause.LOST, message, sent=True), until_ns, sends)

    async def _seen(self, binding: Binding) -> SettledOutcome | PodUnreadable | None:
        """The node of the pod according to the API server; None if it is on no node."""
        path = pod_path(binding.namespace, binding.name)
        answer = await self._client.request("GET", path, timeout_s=limits.EXTENDER_TIMEOUT_S)
        if isinstance(answer, Status) and answer.code == 404:
            return Gone()
        if not isinstance(answer, Response):
            return PodUnreadable()
        seen = seen_on(binding, answer.body)
        return Bound() if isinstance(seen, AlreadyOurs) else seen
