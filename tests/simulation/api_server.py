"""The API server of the simulated world: the embedded one of kpolicy.testing, with faults in front
of it.

Carries out each `Trouble`, and records all writes and changes for the checker. Hosts name
themselves by their token. Objects, versions and watches are the embedded server's.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any, Final

from pydantic_core import to_json

from kpolicy.clock import Clock
from kpolicy.testing.apiserver.api_calls import (
    TEXT,
    WRITES,
    Answer,
    Call,
    Request,
    target_of,
    verb_of,
)
from kpolicy.testing.apiserver.api_server import Serving
from kpolicy.testing.apiserver.http_server import HttpServer, Reply
from kpolicy.testing.objects import failures
from kpolicy.testing.objects.object_views import list_json
from kpolicy.testing.objects.resource_types import BY_KIND, Resource
from kpolicy.testing.objects.store import Change as Stored, Store, StoreSettings
from tests.invariants.history import Change, Write
from tests.simulation.network import End, Network
from tests.simulation.trouble import NO_TROUBLE, Kind, Trouble, Troubles

ADDRESS: Final = ("10.0.0.1", 80)
SERVER: Final = "http://{}:{}".format(*ADDRESS)
_RECORDED: Final = (
    ("v1", "Pod"),
    ("v1", "Node"),
    ("v1", "ConfigMap"),
    ("v1", "PersistentVolumeClaim"),
    ("v1", "PersistentVolume"),
    ("policy/v1", "PodDisruptionBudget"),
    ("resource.k8s.io/v1", "ResourceClaim"),
)
# How many versions a lagging server's list is behind.
STALE_VERSIONS_MAX: Final = 30


class SimulatedApi:
    """`kill` is called with the host that dies with this write."""

    def __init__(
        self,
        clock: Clock,
        network: Network,
        troubles: Troubles,
        *,
        hosts: frozenset[str],
        seed: int,
        kill: Callable[[str], None],
    ) -> None:
        self._clock = clock
        self._network = network
        self._troubles = troubles
        self._kill = kill
        self._http = HttpServer(self._handle)
        self.store = Store(clock, StoreSettings(seed))
        self._serving = Serving(
            self.store,
            clock,
            tokens={name: name for name in (*hosts, *OUTSIDERS)},
            faults=troubles,
        )
        self.writes: list[Write] = []
        self.changes: list[Change] = []
        self.requests = 0
        for key in _RECORDED:
            self.store.listen(BY_KIND[key], self._changed)
        network.accept[ADDRESS] = self._accept

    # --- for those inside the world --------------------------------------------------------------

    def do(
        self, user: str, method: str, path: str, body: object = None, content_type: str = ""
    ) -> Answer:
        """A request of users, controllers and other schedulers, without a network."""
        headers = {"authorization": f"Bearer {user}", "content-type": content_type or JSON}
        content = b"" if body is None else json.dumps(body).encode()
        request = Request(method, path, {}, headers, content)
        call = self._call(request)
        answer = self._commit(call, request, None, self._clock.monotonic_ns())
        assert answer is not None, "a watch needs a connection"
        return answer

    # --- requests --------------------------------------------------------------------------------

    def _accept(self, end: End) -> asyncio.Protocol:
        del end
        return self._http.protocol()

    def _handle(self, request: Request, reply: Reply) -> Answer | None:
        self.requests += 1
        call = self._call(request)
        trouble = NO_TROUBLE if call is None else self._troubles.of_request(call)
        received_ns = self._clock.monotonic_ns()
        match trouble.kind:
            case Kind.NONE:
                return self._commit(call, request, reply, received_ns)
            case Kind.LOST:
                reply.cut()
                return None
            case Kind.UNHEARD:
                return None
            case Kind.LATE:
                reply.loop.call_later(
                    trouble.seconds, self._late, call, request, reply, received_ns
                )
                return None
            case Kind.BUSY | Kind.FAILING | Kind.GONE:
                refusal = _refusal(trouble)
                self._note(call, request, refusal, received_ns)
                return refusal
            case Kind.NOT_A_LIST:
                return Answer(200, b"<html>sign in first</html>", TEXT)
            case Kind.GONE_EVENT:
                stream = reply.stream(JSON)
                gone = failures.expired("too old resource version").status()
                stream.send(b'{"type":"ERROR","object":' + to_json(gone) + b"}\n")
                stream.end()
                return None
            case Kind.STALE_LIST:
                assert call is not None
                return self._stale(call, request) or self._commit(call, request, reply, received_ns)
            case Kind.KILL_BEFORE:
                assert call is not None
                self._kill(call.user)
                return None
        self._commit(call, request, reply, received_ns)
        match trouble.kind:
            case Kind.ANSWER_LOST:
                reply.cut()
            case Kind.KILL_AFTER:
                assert call is not None
                self._kill(call.user)
            case Kind.FAILED_AFTER_COMMIT:
                return _refusal(trouble)
        return None

    def _late(self, call: Call | None, request: Request, reply: Reply, received_ns: int) -> None:
        # The client may have given up, but a request under way is carried out.
        if call is not None and call.verb == "watch" and reply.closed:
            return
        answer = self._commit(call, request, reply, received_ns)
        if answer is not None and not reply.closed:
            reply.answer(answer)

    def _commit(
        self, call: Call | None, request: Request, reply: Reply | None, received_ns: int
    ) -> Answer | None:
        answer = self._serving.handle(request, reply)  # type: ignore[arg-type]
        if answer is not None:
            self._note(call, request, answer, received_ns)
        return answer

    def _stale(self, call: Call, request: Request) -> Answer | None:
        """A list as a lagging server gives it. It cannot show versions that it has compacted."""
        back = 1 + len(request.path) * 7 % STALE_VERSIONS_MAX
        version = self.store.revision - back
        if version < 1 or "continue" in request.query:
            return None
        asked = request.query.get("resourceVersion", "")
        if asked and int(asked) > version:
            failure = failures.too_large_revision(int(asked), version)
            return Answer(failure.code, to_json(failure.status()))
        resource = call.target.resource
        records = self.store.records_at(resource, version, call.target.namespace or None)
        if records is None:
            return None
        return Answer(200, list_json(resource, records, {"resourceVersion": str(version)}))

    # --- the record ------------------------------------------------------------------------------

    def _call(self, request: Request) -> Call | None:
        target = target_of(request.path)
        if target is None:
            return None
        verb = verb_of(request.method, target, request.query)
        if verb is None:
            return None
        user = request.headers.get("authorization", "").removeprefix("Bearer ")
        return Call(user, verb, target, request.path)

    def _note(self, call: Call | None, request: Request, answer: Answer, received_ns: int) -> None:
        if call is None or call.verb not in WRITES:
            return
        self.writes.append(
            Write(
                received_ns=received_ns,
                answered_ns=self._clock.monotonic_ns(),
                user=call.user,
                verb=call.verb,
                what=_what(call.target.resource, call.subresource),
                namespace=call.namespace,
                name=call.name,
                code=answer.code,
                request=_document(request.body),
                response=_document(answer.body),
            )
        )

    def _changed(self, stored: Stored) -> None:
        record = stored.record
        self.changes.append(
            Change(
                record.resource.plural,
                stored.type.value,
                stored.revision,
                self._clock.monotonic_ns(),
                record.object,
            )
        )


JSON: Final = "application/json"
USER: Final = "user"  # people and controllers
OTHER_SCHEDULER: Final = "other-scheduler"
KUBELET: Final = "kubelet"
OUTSIDERS: Final = (USER, OTHER_SCHEDULER, KUBELET)


def _what(resource: Resource, subresource: str) -> str:
    group = resource.api_version.rpartition("/")[0]
    name = f"{resource.plural}.{group}" if group else resource.plural
    return f"{name}/{subresource}" if subresource else name


def _document(body: bytes) -> dict[str, Any] | None:
    try:
        found = json.loads(body)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


def _refusal(trouble: Trouble) -> Answer:
    failure = failures.injected(trouble.code)
    if trouble.code == 410:
        failure = failures.expired("too old resource version")
    headers = (("Retry-After", f"{trouble.seconds:.0f}"),) if trouble.kind is Kind.BUSY else ()
    if trouble.code == 429:
        return Answer(429, f"{failure.message}\n".encode(), TEXT, headers)
    return Answer(failure.code, to_json(failure.status()), headers=headers)
