"""Records a run on a real control plane as a `History`: raw watches of pods, nodes, ConfigMaps,
claims and volumes, and the audit log.

Needs an administrator's client, and `tests.cluster.components.AUDIT_POLICY`, which logs the
scheduler's writes with their bodies. Watches continue at their version when the API server comes
back. It shares no code with kpolicy's own watches, because it helps to check them.
"""

from __future__ import annotations

import http.client
import json
import socket
import ssl
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from types import TracebackType
from typing import Any, Final, Self
from urllib.parse import urlencode, urlsplit

from tests.cluster.audit import AuditEvent
from tests.cluster.client import wait_for
from tests.cluster.control_plane import ControlPlane
from tests.invariants.history import (
    CLAIM,
    DELETED,
    DEVICE_CLAIM,
    LEASE,
    VOLUME,
    AtRest,
    Change,
    Decision,
    History,
    PolicyOffer,
    Standstill,
    Terms,
    Write,
)

PATHS: Final = {
    "pods": "/api/v1/pods",
    "nodes": "/api/v1/nodes",
    "configmaps": "/api/v1/configmaps",
    CLAIM: "/api/v1/persistentvolumeclaims",
    VOLUME: "/api/v1/persistentvolumes",
    DEVICE_CLAIM: "/apis/resource.k8s.io/v1/resourceclaims",
}
RETRY_S: Final = 0.1
READ_TIMEOUT_S: Final = 90.0  # the API server sends bookmarks every minute
GONE: Final = 410


class Recording:
    """`with Recording(control_plane, users=(NORMAL,), profiles=("kpolicy",)) as recording:` around
    the scheduler; then `violations(recording.history())`.

    Tell it what it cannot see: `offer` each policy when it is put where the scheduler reads it,
    `calm` when faults and changes stop. A watch that had to list anew (410) misses what lay
    between: `gaps` counts those, and checks of one change after the other are then weaker."""

    def __init__(
        self,
        control_plane: ControlPlane,
        *,
        users: Sequence[str],
        profiles: Sequence[str],
        terms: Terms | None = None,
        trouble_free: bool = False,
    ) -> None:
        self._control_plane = control_plane
        self._users = frozenset(users)
        self._profiles = frozenset(profiles)
        self._terms = terms or Terms()
        self._trouble_free = trouble_free
        # Not every API server has claims on devices.
        watched = [each for each in PATHS if each != DEVICE_CLAIM or self._terms.allocates_devices]
        self._watches = {name: _Watch(control_plane, name) for name in watched}
        self._offers: list[PolicyOffer] = []
        self._standstills: list[Standstill] = []
        self._calm_since_ns: int | None = None
        self._began_ns = time.time_ns()

    def __enter__(self) -> Self:
        for watch in self._watches.values():
            watch.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for watch in self._watches.values():
            watch.stop()
        for watch in self._watches.values():
            watch.join()

    @property
    def terms(self) -> Terms:
        return self._terms

    @contextmanager
    def standstill(self) -> Iterator[None]:
        """Use it around a stop of the API server."""
        began_ns = time.time_ns()
        yield
        self._standstills.append(Standstill(began_ns, time.time_ns()))

    @property
    def gaps(self) -> int:
        return sum(watch.gaps for watch in self._watches.values())

    def offer(self, policy_hash: str, *, was_there: bool = False) -> None:
        """A policy that can be read from now on, or from the beginning. An empty hash means that it
        does not compile."""
        self._offers.append(PolicyOffer(0 if was_there else time.time_ns(), policy_hash))

    def calm(self) -> None:
        """The test makes no changes and no faults from now on."""
        self._calm_since_ns = time.time_ns()

    def history(
        self, *, at_rest: AtRest | None = None, decisions: Sequence[Decision] = ()
    ) -> History:
        """All until now: waits until the watches have told what lists say."""
        for name, watch in self._watches.items():
            wait_for(watch.caught_up, f"the recording of {name} to catch up")
        changes = [change for watch in self._watches.values() for change in watch.changes()]
        return History(
            users=self._users,
            profiles=self._profiles,
            changes=tuple(sorted(changes, key=lambda change: change.version)),
            writes=tuple(writes_of(self._control_plane.audit_events(), self._began_ns)),
            decisions=tuple(decisions),
            policies=tuple(self._offers),
            standstills=tuple(self._standstills),
            at_rest=at_rest,
            calm_since_ns=self._calm_since_ns,
            trouble_free=self._trouble_free,
            ended_ns=time.time_ns(),
            terms=self._terms,
        )


def writes_of(events: Iterable[AuditEvent], since_ns: int = 0) -> list[Write]:
    """The writes among audit events, in the order of their answers. For leases also earlier writes,
    because the leader may have had the lease for long."""
    found = []
    for event in events:
        received_ns = round(event.received_at.timestamp() * 1e6) * 1000
        if not event.writes or (received_ns < since_ns and event.what != LEASE):
            continue
        found.append(
            Write(
                received_ns=received_ns,
                answered_ns=round(event.answered_at.timestamp() * 1e6) * 1000,
                user=event.user,
                verb=event.verb,
                what=event.what,
                namespace=event.namespace,
                name=event.name,
                code=event.code,
                request=event.request,
                response=event.response,
            )
        )
    return found


class _Watch:
    """Lists and watches one resource in its own thread."""

    def __init__(self, control_plane: ControlPlane, name: str) -> None:
        self._control_plane = control_plane
        self._name = name
        self._changes: list[Change] = []
        self._held: dict[str, dict[str, Any]] = {}  # by uid
        self._version = ""
        self._stopped = threading.Event()
        self._socket: socket.socket | None = None  # the response that is being read
        self._thread = threading.Thread(target=self._run, name=f"recording {name}", daemon=True)
        self.gaps = 0

    def start(self) -> None:
        self._list()
        self._thread.start()

    def stop(self) -> None:
        """Ends the stream at once. Its next line may be a minute away."""
        self._stopped.set()
        if (stream := self._socket) is not None:
            with suppress(OSError):  # it has ended
                socket.socket.shutdown(stream, socket.SHUT_RDWR)  # below TLS, which is being read

    def join(self) -> None:
        self._thread.join()

    def changes(self) -> tuple[Change, ...]:
        return tuple(self._changes)

    def caught_up(self) -> bool:
        listed = self._control_plane.admin.list(PATHS[self._name])
        there = {item["metadata"]["uid"]: item["metadata"]["resourceVersion"] for item in listed}
        held = self._held.copy()
        return there == {
            uid: held_object["metadata"]["resourceVersion"] for uid, held_object in held.items()
        }

    def _run(self) -> None:
        while not self._stopped.is_set():
            try:
                self._follow()
            except (OSError, http.client.HTTPException, ValueError):
                self._stopped.wait(RETRY_S)

    def _list(self) -> None:
        """Listed objects count as received now; after a gap, deleted objects too."""
        page = self._control_plane.admin.get(PATHS[self._name])
        self._version = page["metadata"]["resourceVersion"]
        kind = page["kind"].removesuffix("List")
        gone = dict(self._held)
        for item in page["items"]:
            item |= {"kind": kind, "apiVersion": page["apiVersion"]}
            before = gone.pop(item["metadata"]["uid"], None)
            if before is None:
                self._take("ADDED", item)
            elif before["metadata"]["resourceVersion"] != item["metadata"]["resourceVersion"]:
                self._take("MODIFIED", item)
        for item in gone.values():
            self._take(DELETED, item, version=int(self._version))

    def _follow(self) -> None:
        """Reads one watch until it ends."""
        query = {"watch": "1", "allowWatchBookmarks": "true", "resourceVersion": self._version}
        connection = _connect(self._control_plane)
        try:
            connection.connect()
            self._socket = connection.sock
            connection.request(
                "GET",
                f"{PATHS[self._name]}?{urlencode(query)}",
                headers={"Authorization": f"Bearer {self._control_plane.token()}"},
            )
            # What the server closes is the answer's to close.
            with connection.getresponse() as answer:
                if answer.status == GONE:
                    self._anew()
                    return
                if answer.status != http.client.OK:
                    raise http.client.HTTPException(str(answer.status))
                while not self._stopped.is_set():
                    line = answer.readline()
                    if not line.endswith(b"\n"):
                        return
                    event = json.loads(line)
                    if event["type"] == "ERROR":
                        if event["object"].get("code") == GONE:
                            self._anew()
                        return
                    self._version = event["object"]["metadata"]["resourceVersion"]
                    if event["type"] != "BOOKMARK":
                        self._take(event["type"], event["object"])
        finally:
            self._socket = None
            connection.close()

    def _anew(self) -> None:
        self.gaps += 1
        self._list()

    def _take(self, type_: str, item: dict[str, Any], version: int | None = None) -> None:
        uid = item["metadata"]["uid"]
        number = int(item["metadata"]["resourceVersion"]) if version is None else version
        self._changes.append(Change(self._name, type_, number, time.time_ns(), item))
        if type_ == DELETED:
            self._held.pop(uid, None)
        else:
            self._held[uid] = item


def _connect(control_plane: ControlPlane) -> http.client.HTTPSConnection:
    address = urlsplit(control_plane.server)
    assert address.hostname is not None
    tls = ssl.create_default_context(cafile=str(control_plane.ca_file))
    return http.client.HTTPSConnection(
        address.hostname, address.port, timeout=READ_TIMEOUT_S, context=tls
    )
