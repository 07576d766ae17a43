"""The real engine, which a test can watch and let fail; and answers of an engine, made by hand."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence

from kpolicy.engine import (
    Applied,
    AwaitedVolume,
    Decision,
    Engine,
    PodChange,
    PreBindWrite,
    Refusal,
    Scheduled,
    Unreadable,
    Verdict,
    VolumeProgress,
    VolumeState,
    Wake,
)


def applied(
    resource_version: str = "",
    *,
    status: tuple[int, str, str] = (0, "", ""),
    unreadable: Sequence[Unreadable] = (),
) -> Applied:
    return Applied(resource_version, "", 0, *status, [], [], list(unreadable), [])


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
    writes: Sequence[PreBindWrite] = (),
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
        list(writes),
    )


class FaultyEngine(Engine):
    """Decides as the engine does, except for the faults that a test asks for.

    `fails_pods`: no pod is judged, each fails as by a broken rule. `dies`: decisions raise.
    `refuses`: no program is loaded.
    """

    def __init__(self, seed: int = 1) -> None:
        super().__init__(seed)
        self.fails_pods = self.dies = self.refuses = False
        self.settled: Counter[int] = Counter()  # by outcome
        self.batches: list[int] = []

    @property
    def assumed(self) -> int:
        return self._count("podsAssumed")

    @property
    def nodes(self) -> int:
        return self._count("nodes")

    def load(self, program: bytes) -> list[Refusal]:
        if self.refuses:
            return [Refusal("KE1", "$.profiles[0]", "does not verify", "compile it anew")]
        return super().load(program)

    def schedule(self, uids: Sequence[str], now_ns: int) -> Scheduled:
        if self.dies:
            raise RuntimeError("the engine fell over")
        self.batches.append(len(uids))
        if not (self.fails_pods and uids):
            return super().schedule(uids, now_ns)
        pods = {pod.uid: pod for pod in self.pending()}
        return Scheduled(
            self.program_hash(), "0", [_failed(pods[uid]) for uid in uids if uid in pods]
        )

    def settle(self, outcomes: Sequence[tuple[str, int]], now_ns: int) -> list[Wake]:
        self.settled.update(outcome for _, outcome in outcomes)
        return super().settle(outcomes, now_ns)

    def _count(self, name: str) -> int:
        return int(json.loads(self.statistics())[name])


def _failed(pod: PodChange) -> Decision:
    message = "rule `broken` failed"
    return decided(Verdict.FAILED, pod.uid, pod.name, namespace=pod.namespace, message=message)


class VolumesEngine(Engine):
    """Answers about claims by `progress`; those that are not in it wait."""

    def __init__(self) -> None:
        super().__init__(0)
        self.progress: dict[str, VolumeProgress] = {}
        self.asked: list[list[str]] = []

    def volumes(self, awaited: Sequence[AwaitedVolume]) -> list[VolumeProgress]:
        self.asked.append([volume.claim for volume in awaited])
        waits = VolumeProgress(VolumeState.WAITING, "")
        return [self.progress.get(volume.claim, waits) for volume in awaited]
