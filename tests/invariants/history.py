"""The recording of a run, on which the invariants are checked.

`changes` are what the API server sent to watchers of pods, nodes and ConfigMaps, in the order of
their versions; `writes` are its audit log. Both come from the server and not from the scheduler.
`decisions` and `at_rest` come from the scheduler; they are optional and make checks stricter.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

Object = Mapping[str, Any]

SECOND_NS: Final = 1_000_000_000
WAIT_S_MAX: Final = 12.0
ADDED, MODIFIED, DELETED = "ADDED", "MODIFIED", "DELETED"

BINDING: Final = "pods/binding"
LEASE: Final = "leases.coordination.k8s.io"
EVENT: Final = "events.events.k8s.io"
STATUS: Final = "pods/status"
CONFIG_MAP: Final = "configmaps"
CLAIM: Final = "persistentvolumeclaims"
VOLUME: Final = "persistentvolumes"
DEVICE_CLAIM: Final = "resourceclaims"

POLICY_HASH: Final = "kpolicy.dev/policy-hash"
SNAPSHOT_VERSION: Final = "kpolicy.dev/snapshot-rv"
DECISION_ID: Final = "kpolicy.dev/decision-id"


@dataclass(frozen=True, slots=True)
class Change:
    """One event of a watch; `object` of a DELETED one is its last state."""

    resource: str  # pods, nodes, configmaps, and others that were recorded
    type: str
    version: int
    at_ns: int  # when the recorder received it
    object: Object

    @property
    def uid(self) -> str:
        return str(self.object["metadata"].get("uid", ""))


@dataclass(frozen=True, slots=True)
class Write:
    """One write request to the API server, and its answer."""

    received_ns: int
    answered_ns: int
    user: str
    verb: str
    what: str  # as in RBAC: "pods/binding", "leases.coordination.k8s.io"
    namespace: str
    name: str
    code: int
    request: Object | None = None
    response: Object | None = None

    @property
    def succeeded(self) -> bool:
        return 200 <= self.code < 300

    def in_request(self, *path: str) -> str:
        return _text(self.request, path)

    def in_response(self, *path: str) -> str:
        return _text(self.response, path)

    @property
    def instance(self) -> str:
        """The process that decided about a bind: decision ids are `<instance>-<number>`."""
        return self.in_request("metadata", "annotations", DECISION_ID).rpartition("-")[0]


@dataclass(frozen=True, slots=True)
class Span:
    """The versions of a resource that a decision may rest on, both ends included."""

    low: int
    high: int


@dataclass(frozen=True, slots=True)
class Decision:
    """A placement that the engine decided, with the versions that it had received by then."""

    at_ns: int
    instance: str
    uid: str
    node: str
    policy_hash: str
    pods: Span
    nodes: Span
    volumes_low: int = 0  # of claims and volumes: at least this new


@dataclass(frozen=True, slots=True)
class RoomDecided:
    """The victims that the engine chose for a pod, with the versions it had received by then."""

    at_ns: int
    instance: str
    uid: str
    node: str
    victims: tuple[str, ...]
    pods: Span
    nodes: Span
    budgets: Span


# What a call of a plugin came to; empty: it has not ended.
DONE, REFUSED, RAISED, WAITS, CANCELLED = "done", "refused", "raised", "waits", "cancelled"
# For `PluginCall.point`: not a call, but that a plugin has allowed a waiting pod.
ALLOWED: Final = "Allowed"


@dataclass(slots=True)
class PluginCall:
    """A plugin was asked about a pod. Only a simulated run knows this."""

    began_ns: int
    instance: str
    plugin: str
    point: str
    uid: str
    node: str
    result: str = ""


@dataclass(frozen=True, slots=True)
class Standstill:
    """The API server was stopped. It received requests of this time, or of shortly before, when it
    continued."""

    began_ns: int
    ended_ns: int


@dataclass(frozen=True, slots=True)
class Start:
    """A process of the scheduler started."""

    instance: str
    user: str
    at_ns: int


@dataclass(frozen=True, slots=True)
class PolicyOffer:
    """From then on this policy could be read; no hash: it does not compile. `forbids`: labels, with
    their values, that it keeps pods off, for the reference that knows built-ins only. `shuns`: off
    which it keeps them while an extender that may be left out does answer. `cap_milli`: it holds a
    pod with which its namespace would have more cpu; 0: it holds none."""

    at_ns: int
    hash: str
    forbids: tuple[tuple[str, str], ...] = ()
    shuns: tuple[tuple[str, str], ...] = ()
    cap_milli: int = 0


@dataclass(frozen=True, slots=True)
class Held:
    """A map, queue or set of the scheduler: its size, and its limit at rest."""

    name: str
    count: int
    count_max: int = 0


@dataclass(frozen=True, slots=True)
class AtRest:
    """The leader's own view at rest. `queued` names the lane of every pod by
    uid, `compared` what the comparer found; None: not asked."""

    at_ns: int
    pending: int  # the sum over lanes, as in scheduler_pending_pods
    assumed: int = 0
    binds_in_flight: int = 0
    attempts_under_way: int = 0
    queued: Mapping[str, str] | None = None
    compared: tuple[str, ...] | None = None  # differences between our cache and the API
    policy_hash: str = ""  # hash in force; empty if not asked
    instance: str = ""  # as in `Start`; empty if not asked
    held: tuple[Held, ...] = ()  # sizes of the scheduler's maps and queues


@dataclass(frozen=True, slots=True)
class Terms:
    """The part of the run's configuration that checks depend on."""

    renew_deadline_s: float = 10.0
    # How long after its deadline a bind may still arrive, because it was sent in time.
    bind_timeout_s: float = 5.0
    # Where there is no decision log: a bind names the newest version of all that its snapshot held.
    # Of the resource that has this version everything up to it was seen, and of the others what
    # their watches had told by then. So far they may be behind each other:
    skew_s: float = 2.0
    # How old all of it may be, where watches are broken on purpose and objects are listed again.
    lag_s: float = 0.0
    # How long a feasible pod may wait without faults: back-off, and two cycles.
    wait_s_max: float = WAIT_S_MAX
    # After faults stop: the time until everything is bound, and the time in which then nothing
    # changes.
    converge_s: float = 400.0
    rest_s: float = 60.0
    # At rest, a pod that is tried again after minutes may get another reason, once.
    retells: bool = True
    # Profiles with rules that the reference does not know: it cannot say that a pod would fit.
    unjudged: frozenset[str] = frozenset()
    # How long a call of a plugin may take before its thread is given up, and asked again elsewhere.
    plugin_call_s: float = 10.0
    # The label of pods that plugins delay for as long as they like, and its value.
    hampered: tuple[str, str] | None = None
    # Prefixes of resources that extenders count, so that nodes need not have them.
    ignored: tuple[str, ...] = ()
    evicts: bool = False  # preemption is live: pods may be deleted
    binds_volumes: bool = False  # claims and volumes may be patched before a bind
    allocates_devices: bool = False  # claims on devices may be patched, made and deleted
    # The number of versions that a lagging server may be behind in a list.
    stale_versions: int = 0
    kept_in: str = (
        ""  # NAMESPACE/NAME of the ConfigMap that the scheduler writes: last good policy, status
    )
    # What stayed broken for good, by the names of `Write.what`: not judged by whether it rests,
    # nor by what only it could tell.
    broken: frozenset[str] = frozenset()
    shuns: bool = True  # ignorable extenders answer in the end


@dataclass(frozen=True, slots=True)
class History:
    users: frozenset[str]  # users of the scheduler's instances
    profiles: frozenset[str]  # schedulerNames that are served
    changes: tuple[Change, ...]
    writes: tuple[Write, ...]
    decisions: tuple[Decision, ...] = ()
    rooms: tuple[RoomDecided, ...] = ()
    plugin_calls: tuple[PluginCall, ...] = ()
    starts: tuple[Start, ...] = ()
    standstills: tuple[Standstill, ...] = ()
    policies: tuple[PolicyOffer, ...] = ()
    at_rest: AtRest | None = None
    calm_since_ns: int | None = None  # since when there were neither faults nor changes
    trouble_free: bool = False  # without faults, from beginning to end
    ended_ns: int = 0
    terms: Terms = field(default_factory=Terms)

    def ours(self) -> tuple[Write, ...]:
        return tuple(write for write in self.writes if write.user in self.users)

    def binds(self) -> tuple[Write, ...]:
        """All bind requests of the scheduler, whatever the answer."""
        return tuple(
            write for write in self.ours() if write.what == BINDING and write.verb == "create"
        )


@dataclass(frozen=True, slots=True)
class Violation:
    invariant: str  # I1 to I14
    at_ns: int
    text: str

    def __str__(self) -> str:
        return f"{self.invariant} at {self.at_ns / SECOND_NS:.3f} s: {self.text}"


def _text(document: Object | None, path: tuple[str, ...]) -> str:
    found: Any = document
    for key in path:
        if not isinstance(found, Mapping):
            return ""
        found = found.get(key)
    return "" if found is None else str(found)
