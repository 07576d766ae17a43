"""`explain`: everything that can be said of pods, each judged by itself against a snapshot.

Owns which pods are asked about and in what order. The answers are the engine's (design §7 binds
their shape), line by line; it judges a pod on a node as if that were not there. A pod that ended is
nothing to the engine any more, so it is shown it as if it were pending.
Must not decide.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from kpolicy.engine import Engine, PodChange
from kpolicy.offline.limits import EXPLAINED_NODES_MAX
from kpolicy.offline.snapshots.json_objects import Json
from kpolicy.offline.snapshots.object_kinds import DEFAULT_SCHEDULER
from kpolicy.offline.snapshots.pod_lookup import (
    NotExplained,
    full_key,
    key_of_pod,
    placed_pods,
    queue_order,
    unknown,
    unplaced,
)
from kpolicy.offline.snapshots.snapshot import Snapshot, default_program
from kpolicy.policy.assembly.program import Program
from kpolicy.policy.compile import EVERY_POD

# No rule reads the time of an explanation.
_NOW_NS: Final = 0
_ENDED: Final = frozenset({"Succeeded", "Failed"})


@dataclass(frozen=True, slots=True)
class Explained:
    """`explanations` are what `kpolicy explain --output json` prints."""

    explanations: list[dict[str, Any]]
    not_explained: list[NotExplained] = field(default_factory=list)


def explain(
    snapshot: Snapshot,
    policy: Program | None = None,
    pods: Sequence[str] | None = None,
    *,
    seed: int = 0,
) -> Explained:
    """Explain these pods (`namespace/name`), or all that are pending and served.

    Without a policy, what kube-scheduler does. Raises `PolicyRefusedError`."""
    work = Explaining(snapshot, policy, seed=seed)
    lines = work.lines() if pods is None else work.lines_of(pods)
    return Explained([json.loads(line) for line in lines], work.not_explained)


class Explaining:
    """The same in lines, as they come; `not_explained` fills meanwhile."""

    def __init__(self, snapshot: Snapshot, policy: Program | None = None, *, seed: int = 0) -> None:
        program = policy or default_program()
        self.not_explained: list[NotExplained] = []
        self._snapshot = snapshot
        self._served = frozenset(program.scheduler_names)
        self._engine: Engine = snapshot.engine(program, seed=seed)
        nodes = int(json.loads(self.statistics)["nodes"])
        self._pods_a_call = max(1, EXPLAINED_NODES_MAX // max(1, nodes))

    @property
    def statistics(self) -> bytes:
        """What the engine holds."""
        return self._engine.statistics()

    def pending(self) -> list[PodChange]:
        """Pending pods that a profile serves, in queue order."""
        return queue_order(pod for pod in self._engine.pending() if self._serves(pod))

    def not_served(self) -> list[PodChange]:
        return [pod for pod in self._engine.pending() if not self._serves(pod)]

    def lines(self) -> Iterator[bytes]:
        yield from self._asked([key_of_pod(pod) for pod in self.pending()])

    def lines_of(self, written: Sequence[str]) -> Iterator[bytes]:
        """In the order in which they were asked for."""
        keys = list(dict.fromkeys(map(full_key, written)))
        pending = {key_of_pod(pod): pod for pod in self._engine.pending()}
        placed = placed_pods(self._snapshot, [key for key in keys if key not in pending])
        for key in keys:
            pod = pending.get(key)
            if pod is not None and not self._serves(pod):
                self.not_explained.append(self._unserved(key, pod.scheduler_name))
            elif pod is not None:
                yield from self._asked([key])
            elif key in placed:
                yield from self._placed(key, placed[key])
            else:
                self.not_explained.append(unknown(self._snapshot, key))

    def _serves(self, pod: PodChange) -> bool:
        return EVERY_POD in self._served or pod.scheduler_name in self._served

    def _unserved(self, key: str, scheduler_name: str) -> NotExplained:
        message = f"its scheduler is `{scheduler_name}`"
        return NotExplained(key, message, f"the policy serves {', '.join(sorted(self._served))}")

    def _asked(self, keys: Sequence[str]) -> Iterator[bytes]:
        for start in range(0, len(keys), self._pods_a_call):
            request = json.dumps({"pods": keys[start : start + self._pods_a_call]})
            yield from self._engine.explain(request.encode(), _NOW_NS).splitlines()

    def _placed(self, key: str, pod: Json) -> Iterator[bytes]:
        lines = self._as_if_not_there(key, pod) if _has_ended(pod) else list(self._asked([key]))
        if not lines:
            self.not_explained.append(self._silent(key, pod))
        yield from lines

    def _as_if_not_there(self, key: str, pod: Json) -> list[bytes]:
        """A pod that has ended is nothing to the engine."""
        with unplaced(self._engine, pod):
            return list(self._asked([key]))

    def _silent(self, key: str, pod: Json) -> NotExplained:
        name = str((pod.get("spec") or {}).get("schedulerName") or DEFAULT_SCHEDULER)
        if EVERY_POD in self._served or name in self._served:
            return NotExplained(key, "it could not be read")
        return self._unserved(key, name)


def _has_ended(pod: Json) -> bool:
    status = pod.get("status")
    return isinstance(status, dict) and status.get("phase") in _ENDED
