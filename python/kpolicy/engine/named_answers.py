"""Answers of the engine: names for the fields of its flat tuples, and for its numbers.

Annotations are values here, not texts as elsewhere: Python would compile the text of each field.
"""

from collections.abc import Sequence
from enum import IntEnum
from typing import NamedTuple, TypeAlias


class PodState(IntEnum):
    """`PodChange.change`."""

    GONE = 0
    PENDING = 1
    ON_NODE = 2


class Verdict(IntEnum):
    """`Decision.verdict`."""

    PLACED = 0
    PARKED = 1
    FAILED = 2
    GONE = 3
    GATED = 4
    STALE = 5
    SET_ASIDE = 6  # to judge the pod takes more work than one decision may
    NOT_READY = 7  # its claims on devices are not ready; the pod is told nothing


class Outcome(IntEnum):
    """The outcome of a bind, for `Engine.settle`."""

    BOUND = 0
    FAILED = 1
    GONE = 2


class VolumeState(IntEnum):
    """`VolumeProgress.state`."""

    WAITING = 0
    BOUND = 1
    FAILED = 2
    GONE = 3  # the pod no longer exists, or is on another node


class Refusal(NamedTuple):
    """Why a program was refused. `place` is a JSON path in the program."""

    code: str
    place: str
    message: str
    hint: str


class PodChange(NamedTuple):
    """The change of one pod; `change` is a `PodState`. `generation` is 0 if the pod has none."""

    change: int
    uid: str
    namespace: str
    name: str
    priority: int
    scheduler_name: str
    gated: bool
    node: str
    nominated_node: str
    created_ns: int
    generation: int = 0


class Wake(NamedTuple):
    """A parked pod to try again, and the event that woke it, by its name in kube-scheduler's
    metrics. Without a uid: a hold may begin or end, and `next_pods` says of whom."""

    uid: str
    event: str


class WaitingPod(NamedTuple):
    """A pod that may be tried, for `Engine.next_pods`: since when it waits, when it could first be
    tried, and how often it was. Times are of the queue's clock. `is_set_aside`: it comes last.
    `is_resting`: it is parked or backs off, and is not to be tried, but a hold may hold it."""

    uid: str
    since_ns: int
    first_ns: int
    attempts: int
    is_set_aside: bool
    is_resting: bool = False


class HeldPod(NamedTuple):
    """A pod that a hold of the policy keeps from being tried, and why."""

    uid: str
    hold: str
    reason: str
    message: str


class QueueFault(NamedTuple):
    """The order of the queue (`queue.order`) or a hold that failed for a pod and for those that are
    like it, and why."""

    uid: str
    rule: str
    code: str
    message: str


class NextPods(NamedTuple):
    """Uids in the order in which they are tried, and the pods that are held from now on. `is_more`:
    ask again, also if nothing happens. `faults`: what failed for the first time."""

    picked: list[str]
    held: list[HeldPod]
    is_more: bool
    faults: list[QueueFault]


class TimePassed(NamedTuple):
    """The parked pods that time woke, and when it may wake others: nanoseconds since the epoch, or
    None if no rule that rejects pods reads the time."""

    wakes: list[Wake]
    next_ns: int | None


class Unreadable(NamedTuple):
    """An object that could not be read; all others are read. Codes: `NotJson` (the text from here
    on), `BadField`, `NoName`, `TooLarge`, `BadEvent`, and `More` for the objects after the first
    thousand."""

    code: str
    object: str
    message: str


class Applied(NamedTuple):
    """The changes of a page, or of some lines of a watch.

    `deleted_nodes`: the names of nodes that were deleted, also of those that have come back
    since. `status_code` is 0, or the code of a Status that came instead of a list or as an event
    (410: list again). A page that breaks off or lists another kind has 500 with the reason
    `NotJson` or `BadField`. Then `list_end` removes nothing, and repeats the status."""

    resource_version: str
    continue_token: str
    remaining_item_count: int
    status_code: int
    status_reason: str
    status_message: str
    pods: list[PodChange]
    wakes: list[Wake]
    unreadable: list[Unreadable]
    deleted_nodes: list[str]


class Victim(NamedTuple):
    """A pod to evict. A pod that is already terminating needs no eviction."""

    uid: str
    namespace: str
    name: str
    is_terminating: bool = False
    generation: int = 0

    @property
    def key(self) -> str:
        return f"{self.namespace}/{self.name}"


class VolumeWork(NamedTuple):
    """A claim of a placed pod, in its namespace, and what has to be written before the bind. If
    `volume` is not empty, the volume has to name the claim; with `to_mark`, it also has to say that
    a controller bound it. If `volume` is empty, the claim has to name the pod's node. `to_write`:
    the API server does not have this yet."""

    claim: str
    claim_uid: str
    claim_version: str
    volume: str
    volume_uid: str
    volume_version: str
    to_write: bool
    to_mark: bool
    seconds_max: int


class ClaimWork(NamedTuple):
    """A claim on devices of a placed pod, in its namespace, and what has to be written before the
    bind. `allocation` is the JSON of `status.allocation`, or empty if the claim is allocated and
    only has to be reserved for the pod. If `claim` is empty, it has to be made for extended
    resources, with the JSON of its `requests`, and the pod's status has to tell the `mappings`.
    `to_write`: the API server does not have this yet. `to_wait`: some device has conditions that
    must be true before the bind."""

    claim: str
    claim_uid: str
    allocation: str
    requests: str
    mappings: str
    to_write: bool
    to_wait: bool
    seconds_max: int


class BoundAnnotation(NamedTuple):
    """What a placed pod is to say of its placement besides its node, such as which GPUs of it the
    pod has. The bind itself writes it."""

    key: str
    value: str


class ClaimRelease(NamedTuple):
    """A claim on devices that keeps a parked pod from its nodes and that nobody else uses, in the
    namespace of the pod. `to_delete`: it was made for extended resources; otherwise it loses its
    allocation."""

    claim: str
    claim_uid: str
    to_delete: bool


# A write for which a placed pod waits, or that a parked pod calls for. There is a class for each
# kind.
PreBindWrite: TypeAlias = VolumeWork | ClaimWork | BoundAnnotation | ClaimRelease


class AwaitedVolume(NamedTuple):
    """A claim for whose binding a pod waits. `version` is that of the last write for it, if there
    was one."""

    uid: str
    node: str
    claim: str
    volume: str
    version: str


class VolumeProgress(NamedTuple):
    """The state of a claim. `state` is a `VolumeState`; `message` says why it failed."""

    state: int
    message: str


class Decision(NamedTuple):
    """The decision for one pod; `verdict` is a `Verdict`.

    `message` is empty if placed; `victims` are in order of importance, to evict from
    `nominated_node`; `rejected_by` names the rules that rejected nodes; `writes` are made before
    the bind, in order. `is_helped_by_node`: whether a node that the cluster does not have yet could
    help a pod that was not placed."""

    verdict: int
    uid: str
    namespace: str
    name: str
    node: str
    message: str
    score: int
    nodes_total: int
    nodes_feasible: int
    filter_ns: int
    score_ns: int
    # The search for victims, if no node fits.
    post_filter_ns: int
    nominated_node: str
    victims: list[Victim]
    rejected_by: list[str]
    # Uids of pods of lower priority that lost their nomination to `nominated_node`.
    displaced: list[str]
    writes: list[PreBindWrite]
    is_helped_by_node: bool = True

    @property
    def volumes(self) -> list[VolumeWork]:
        return [write for write in self.writes if isinstance(write, VolumeWork)]

    @property
    def annotations(self) -> dict[str, str]:
        """What the bind itself writes into the pod."""
        return dict(write for write in self.writes if isinstance(write, BoundAnnotation))

    @property
    def waits_for_writes(self) -> bool:
        """Whether anything is to be written before the bind."""
        return any(not isinstance(write, BoundAnnotation) for write in self.writes)

    @property
    def took_ns(self) -> int:
        return self.filter_ns + self.score_ns + self.post_filter_ns


class Filtered(NamedTuple):
    """The first step of a decision in two steps. `token` is an argument of the second step."""

    token: int
    feasible: list[str]


class KeptNode(NamedTuple):
    """A node that extenders kept. `score` is the sum of the extenders' scores, 0 to 10, times their
    weights."""

    node: str
    score: int = 0


class RefusedNode(NamedTuple):
    """A node that an extender refused."""

    node: str
    reason: str
    is_unresolvable: bool = False


class JudgedNodes(NamedTuple):
    """The extenders' answers about the feasible nodes of the `Filtered` with this token."""

    token: int
    kept: Sequence[KeptNode] = ()
    refused: Sequence[RefusedNode] = ()


class CandidateNode(NamedTuple):
    """A node on which room can be made. `violations` counts victims that a disruption budget does
    not allow."""

    node: str
    victims: list[Victim]
    violations: int = 0


class Candidates(NamedTuple):
    """The candidates for preemption. `token` goes into `RemainingCandidates`."""

    token: int
    nodes: list[CandidateNode]


class RemainingCandidate(NamedTuple):
    """A node that extenders left, with the uids of those who are to go."""

    node: str
    victims: list[str]
    violations: int = 0


class RemainingCandidates(NamedTuple):
    """The candidates that extenders left. `failure`: an extender that must not fail did; `nodes` is
    None where there were no candidates."""

    token: int
    failure: str
    nodes: Sequence[RemainingCandidate] | None


class Located(NamedTuple):
    """A pod on a node."""

    uid: str
    namespace: str
    name: str
    node: str


class Labelled(NamedTuple):
    """A pod with what tells to which workload it belongs. `controller` is the name of the owner
    that controls it, or empty."""

    uid: str
    namespace: str
    name: str
    controller: str
    labels: list[tuple[str, str]]


class Scheduled(NamedTuple):
    """Decisions of one call, the program they follow and the newest object they rest on.

    A call ends after a bounded amount of work: pods after the last decision are undecided, and
    belong first in the next call. `recorded`: the bytes that a journal keeps of them, if the engine
    `records`."""

    program_hash: str
    resource_version: str
    decisions: list[Decision]
    recorded: bytes = b""


class ScheduledUnit(NamedTuple):
    """Pods that are placed together or not at all: either all their `placements`, in order, or the
    `rejection`, the decision about the first pod that cannot be placed."""

    program_hash: str
    resource_version: str
    placements: list[Decision]
    rejection: Decision | None


class Series(NamedTuple):
    """How long a stage of cycles took (`name`: the profile) or a rule; `counts` by bucket."""

    name: str
    point: str
    status: str
    counts: list[int]
    seconds: float


class Timings(NamedTuple):
    """Since the engine was made. An observation of a stage is one cycle; of a rule's `Filter` and
    `Score` one node, otherwise one pod, of every tenth decision."""

    stages: list[Series]
    rules: list[Series]
