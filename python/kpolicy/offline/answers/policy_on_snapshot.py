"""A snapshot in an engine that decides by one policy, and the pods that this policy serves."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

from kpolicy.engine import Decision, Engine, PodChange
from kpolicy.offline.limits import BATCH_PODS
from kpolicy.offline.snapshots.pod_lookup import queue_order
from kpolicy.offline.snapshots.snapshot import Progress, Snapshot, default_program
from kpolicy.policy.assembly.program import Program
from kpolicy.policy.compile import EVERY_POD

# Rules may read ages. A recorded cluster stands still.
NOW_NS: Final = 0


class PolicyOnSnapshot:
    """Without a policy, what kube-scheduler does. Raises `PolicyRefusedError`."""

    def __init__(self, snapshot: Snapshot, policy: Program | None = None, *, seed: int = 0) -> None:
        program = policy or default_program()
        self.snapshot = snapshot
        self.engine: Engine = snapshot.engine(program, seed=seed)
        self.served = frozenset(program.scheduler_names)

    @property
    def statistics(self) -> bytes:
        """What the engine holds."""
        return self.engine.statistics()

    def serves(self, scheduler_name: str) -> bool:
        return EVERY_POD in self.served or scheduler_name in self.served

    def pending(self) -> list[PodChange]:
        """Pending pods that a profile serves, in queue order."""
        return queue_order(pod for pod in self.engine.pending() if self.serves(pod.scheduler_name))

    def explained(self, keys: Sequence[str]) -> list[bytes]:
        """A line of JSON for each pod that the engine can explain."""
        return self.engine.explain(json.dumps({"pods": keys}).encode(), NOW_NS).splitlines()

    def explanation(self, key: str) -> dict[str, Any]:
        explained: dict[str, Any] = json.loads((self.explained([key]) or [b"{}"])[0])
        return explained


def decide(
    engine: Engine,
    pods: Iterable[PodChange],
    progress: Progress | None = None,
    now_ns: int = NOW_NS,
) -> Iterator[Decision]:
    """Decides one pod after the other; each sees those placed before it."""
    uids = [pod.uid for pod in pods]
    for start in range(0, len(uids), BATCH_PODS):
        batch = uids[start : start + BATCH_PODS]
        yield from engine.schedule(batch, now_ns).decisions
        if progress is not None:
            progress(start + len(batch), len(uids))
