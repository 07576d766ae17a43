"""A small deterministic engine with the methods of the real one, for tests of the loop.

A node takes as many pods as its allocatable `pods` says, the first by name that has room wins, and
any change of a node and any end of a pod wakes all that are parked. Everything else a real engine
does is left out; what it promises the loop (assume, settle, wake, gone) is kept and counted.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from typing import Any

from kpolicy.engine import (
    Applied,
    AwaitedVolume,
    Candidates,
    Decision,
    Engine,
    Filtered,
    KeptNode,
    LeftRoom,
    Located,
    PodChange,
    PodState,
    Refusal,
    RefusedNode,
    Scheduled,
    Timings,
    Unreadable,
    Verdict,
    VolumeProgress,
    VolumeState,
    VolumeWork,
    Wake,
)


def applied(
    resource_version: str = "",
    continue_token: str = "",
    *,
    status: tuple[int, str, str] = (0, "", ""),
    pods: Sequence[PodChange] = (),
    wakes: Sequence[Wake] = (),
    unreadable: Sequence[Unreadable] = (),
) -> Applied:
    return Applied(
        resource_version,
        continue_token,
        0,
        *status,
        list(pods),
        list(wakes),
        list(unreadable),
    )


def decided(
    verdict: Verdict,
    uid: str,
    name: str = "",
    node: str = "",
    *,
    namespace: str = "default",
    message: str = "",
    nodes: int = 0,
    filter_ns: int = 0,
    score_ns: int = 0,
    rejected_by: Sequence[str] = (),
    volumes: Sequence[VolumeWork] = (),
) -> Decision:
    placed = verdict is Verdict.PLACED
    return Decision(
        verdict,
        uid,
        namespace,
        name or uid,
        node,
        message,
        100 if placed else 0,
        nodes,
        1 if placed else 0,
        filter_ns,
        score_ns,
        0,
        "",
        [],
        list(rejected_by),
        [],
        list(volumes),
    )


class SmallEngine(Engine):
    """What it does not override is the real engine's, which holds nothing here."""

    def __init__(self) -> None:
        super().__init__(0)
        self.program = b""
        self.nodes: dict[str, dict[str, Any]] = {}
        self.pods: dict[str, dict[str, Any]] = {}
        self.assumed: dict[str, str] = {}
        self.parked: set[str] = set()
        self.version = "0"
        self.seen: dict[str, set[str]] = {}
        self.settled: Counter[int] = Counter()
        self.batches: list[int] = []
        self.progress: dict[str, VolumeProgress] = {}  # by claim; others wait
        self.asked: list[list[str]] = []
        self.broken: set[str] = set()  # pods by name whose rules fail

    # --- programs --------------------------------------------------------------------------------

    def load(self, program: bytes) -> list[Refusal]:
        if b"refuse-me" in program:
            return [Refusal("KE1", "$.profiles[0]", "does not verify", "compile it anew")]
        self.program = program
        return []

    def program_hash(self) -> str:
        return f"sha256:{len(self.program):x}"

    def stale(self) -> list[str]:
        return list(json.loads(self.program).get("stale", []))

    def resources(self) -> list[str]:
        return list(json.loads(self.program).get("resources", ["pods", "nodes"]))

    # --- objects ---------------------------------------------------------------------------------

    def list_begin(self, resource: str) -> None:
        self.seen[resource] = set()

    def list_page(self, resource: str, body: bytes, now_ns: int) -> Applied:
        page = json.loads(body)
        changes: list[PodChange] = []
        for item in page["items"]:
            self.seen[resource].add(_uid(item))
            changes += self._put(resource, item)
        metadata = page["metadata"]
        self.version = metadata["resourceVersion"]
        return applied(
            self.version, metadata.get("continue", ""), pods=changes, wakes=self._wakes("NodeAdd")
        )

    def list_end(self, resource: str, now_ns: int) -> Applied:
        seen = self.seen.pop(resource, set())
        store = self.pods if resource == "pods" else self.nodes
        changes: list[PodChange] = []
        for item in [item for uid, item in store.items() if uid not in seen]:
            changes += self._remove(resource, item)
        return applied(pods=changes)

    def watch(self, resource: str, lines: bytes, now_ns: int) -> Applied:
        changes: list[PodChange] = []
        unreadable: list[Unreadable] = []
        event_name = ""
        for line in lines.splitlines():
            event = json.loads(line)
            item = event["object"]
            self.version = item["metadata"]["resourceVersion"]
            if "unreadable" in item["metadata"].get("labels", {}):
                unreadable.append(Unreadable("KX1", item["metadata"]["name"], "label"))
            elif event["type"] == "DELETED":
                changes += self._remove(resource, item)
                event_name = "AssignedPodDelete"
            elif event["type"] != "BOOKMARK":
                changes += self._put(resource, item)
                event_name = "NodeAdd" if resource == "nodes" else event_name
        wakes = self._wakes(event_name) if event_name else []
        return applied(self.version, pods=changes, wakes=wakes, unreadable=unreadable)

    # --- the cycle -------------------------------------------------------------------------------

    def schedule(self, uids: Sequence[str], now_ns: int) -> Scheduled:
        self.batches.append(len(uids))
        return Scheduled(self.program_hash(), self.version, [self._decide(uid) for uid in uids])

    def volumes(self, awaited: Sequence[AwaitedVolume]) -> list[VolumeProgress]:
        self.asked.append([volume.claim for volume in awaited])
        waits = VolumeProgress(VolumeState.WAITING, "")
        return [self.progress.get(volume.claim, waits) for volume in awaited]

    def requested(self, uids: Sequence[str], resources: Sequence[str]) -> list[list[str]]:
        return [[] for _ in uids]

    def filter(self, uid: str, now_ns: int) -> Filtered:
        return Filtered(0, self._with_room(), [])

    def choose(
        self,
        uid: str,
        token: int,
        kept: Sequence[KeptNode],
        refused: Sequence[RefusedNode],
        now_ns: int,
    ) -> Decision:
        return self._decide(uid, {node.node for node in kept})

    def candidates(
        self,
        uid: str,
        token: int,
        kept: Sequence[KeptNode],
        refused: Sequence[RefusedNode],
        now_ns: int,
    ) -> Candidates:
        return Candidates(0, [])  # nobody makes room here

    def preempt(
        self,
        uid: str,
        token: int,
        kept: Sequence[KeptNode],
        refused: Sequence[RefusedNode],
        now_ns: int,
        *,
        left: LeftRoom,
    ) -> Decision:
        return self.choose(uid, token, kept, refused, now_ns)

    def located(self, uids: Sequence[str]) -> list[Located]:
        return []

    def settle(self, outcomes: Sequence[tuple[str, int]], now_ns: int) -> list[Wake]:
        wakes: list[Wake] = []
        for uid, outcome in outcomes:
            self.settled[outcome] += 1
            if outcome != 0 and self.assumed.pop(uid, None) is not None:
                wakes = self._wakes("AssignedPodDelete")
        return wakes

    def settle_room(
        self, uid: str, evicted: Sequence[str], now_ns: int, *, is_made: bool
    ) -> list[Wake]:
        return []

    def message(self, uid: str) -> str:
        return "parked" if uid in self.parked else ""

    def pending(self) -> list[PodChange]:
        return [
            _change(PodState.PENDING, pod)
            for pod in self.pods.values()
            if not pod["spec"].get("nodeName")
        ]

    def holdings(self) -> bytes:
        lines: list[object] = [
            sorted(str(node["metadata"]["name"]) for node in self.nodes.values())
        ]
        for uid, pod in self.pods.items():
            metadata, spec = pod["metadata"], pod["spec"]
            key, node = f"{metadata['namespace']}/{metadata['name']}", spec.get("nodeName")
            place = node or self.assumed.get(uid, "")
            is_assumed = not node and uid in self.assumed
            lines.append([uid, key, place, is_assumed, "", spec["schedulerName"]])
        return "\n".join(map(json.dumps, lines)).encode()

    def explain(self, request: bytes, now_ns: int) -> bytes:
        asked = json.loads(request)["pods"]
        keys = [f"{p['metadata']['namespace']}/{p['metadata']['name']}" for p in self.pods.values()]
        lines = [{"pod": key, "nodes": []} for key in keys if key in asked]
        return "\n".join(map(json.dumps, lines)).encode()

    def timings(self) -> Timings:
        return Timings([], [])

    def statistics(self) -> bytes:
        return json.dumps(
            {
                "nodes": len(self.nodes),
                "pods": len(self.pods),
                "podsAssumed": len(self.assumed),
                "podsParked": len(self.parked),
            }
        ).encode()

    # --- inside ----------------------------------------------------------------------------------

    def _with_room(self) -> list[str]:
        used = Counter(self.assumed.values())
        used.update(
            node
            for other in self.pods.values()
            if (node := other["spec"].get("nodeName")) and _uid(other) not in self.assumed
        )
        return sorted(
            str(node["metadata"]["name"])
            for node in self.nodes.values()
            if used[str(node["metadata"]["name"])] < int(node["status"]["allocatable"]["pods"])
        )

    def _decide(self, uid: str, kept: set[str] | None = None) -> Decision:
        pod = self.pods.get(uid)
        if pod is None or pod["spec"].get("nodeName") or uid in self.assumed:
            return decided(Verdict.GONE, uid)
        namespace, name = pod["metadata"]["namespace"], pod["metadata"]["name"]
        total = len(self.nodes)
        if name in self.broken:
            return decided(
                Verdict.FAILED, uid, name, namespace=namespace, message="rule `broken` failed"
            )
        if pod["spec"].get("schedulingGates"):
            return decided(Verdict.GATED, uid, name, namespace=namespace)
        for node_name in self._with_room():
            if kept is None or node_name in kept:
                self.assumed[uid] = node_name
                self.parked.discard(uid)
                return decided(
                    Verdict.PLACED,
                    uid,
                    name,
                    node_name,
                    namespace=namespace,
                    nodes=total,
                    filter_ns=2000,
                    score_ns=1000,
                )
        self.parked.add(uid)
        message = f"0/{total} nodes are available: {total} Too many pods."
        rejected_by = ["NodeResourcesFit"] if total else []
        return decided(
            Verdict.PARKED,
            uid,
            name,
            namespace=namespace,
            message=message,
            nodes=total,
            filter_ns=2000,
            rejected_by=rejected_by,
        )

    def _put(self, resource: str, item: dict[str, Any]) -> list[PodChange]:
        if resource != "pods":
            self.nodes[_uid(item)] = item
            return []
        self.pods[_uid(item)] = item
        if item["spec"].get("nodeName"):
            self.assumed.pop(_uid(item), None)
            return [_change(PodState.ON_NODE, item)]
        return [_change(PodState.PENDING, item)]

    def _remove(self, resource: str, item: dict[str, Any]) -> list[PodChange]:
        if resource != "pods":
            self.nodes.pop(_uid(item), None)
            return []
        for held in (self.pods, self.assumed):
            held.pop(_uid(item), None)
        self.parked.discard(_uid(item))
        return [_change(PodState.GONE, item)]

    def _wakes(self, event: str) -> list[Wake]:
        wakes = [Wake(uid, event) for uid in sorted(self.parked)]
        self.parked.clear()
        return wakes


def _uid(item: dict[str, Any]) -> str:
    return str(item["metadata"]["uid"])


def _change(change: PodState, pod: dict[str, Any]) -> PodChange:
    metadata, spec = pod["metadata"], pod["spec"]
    return PodChange(
        change,
        metadata["uid"],
        metadata["namespace"],
        metadata["name"],
        spec.get("priority", 0),
        spec.get("schedulerName", "default-scheduler"),
        bool(spec.get("schedulingGates")),
        spec.get("nodeName", ""),
        "",
        0,
    )
