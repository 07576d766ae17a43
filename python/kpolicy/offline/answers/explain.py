"""`explain`: why each pod fits or does not fit each node, each pod judged by itself.

The answers are the engine's, line by line (design §7 binds their shape). It judges a pod on a node
as if the pod were not there. It ignores a pod that has ended, so that pod is made pending first.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from kpolicy.engine import PodChange
from kpolicy.offline.answers.policy_on_snapshot import PolicyOnSnapshot
from kpolicy.offline.limits import EXPLAINED_NODES_MAX
from kpolicy.offline.snapshots.json_objects import Json
from kpolicy.offline.snapshots.pod_lookup import (
    NotExplained,
    full_key,
    has_ended,
    key_of_pod,
    pods_by_key,
    scheduler_of,
    unknown_pod,
    unplaced,
)
from kpolicy.offline.snapshots.snapshot import Snapshot
from kpolicy.policy.assembly.program import Program


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


class Explaining(PolicyOnSnapshot):
    """Explanations as lines, one after the other. `not_explained` is complete after the last."""

    def __init__(self, snapshot: Snapshot, policy: Program | None = None, *, seed: int = 0) -> None:
        super().__init__(snapshot, policy, seed=seed)
        self.not_explained: list[NotExplained] = []

    def not_served(self) -> list[PodChange]:
        return [pod for pod in self.engine.pending() if not self.serves(pod.scheduler_name)]

    def lines(self) -> Iterator[bytes]:
        keys = [key_of_pod(pod) for pod in self.pending()]
        nodes = max(1, int(json.loads(self.statistics)["nodes"]))
        size = max(1, EXPLAINED_NODES_MAX // nodes)
        for start in range(0, len(keys), size):
            yield from self.explained(keys[start : start + size])

    def lines_of(self, written: Sequence[str]) -> Iterator[bytes]:
        """In the order of the arguments."""
        keys = list(dict.fromkeys(map(full_key, written)))
        pending = {key_of_pod(pod): pod for pod in self.engine.pending()}
        placed = pods_by_key(self.snapshot, [key for key in keys if key not in pending])
        for key in keys:
            if key in pending:
                yield from self._lines(key, pending[key].scheduler_name)
            elif key in placed:
                yield from self._lines(key, scheduler_of(placed[key]), placed[key])
            else:
                self.not_explained.append(unknown_pod(self.snapshot, key))

    def _lines(self, key: str, scheduler_name: str, placed: Json | None = None) -> list[bytes]:
        if placed is not None and has_ended(placed):
            with unplaced(self.engine, placed):
                lines = self.explained([key])
        else:
            is_asked = placed is not None or self.serves(scheduler_name)
            lines = self.explained([key]) if is_asked else []
        if not lines and self.serves(scheduler_name):
            self.not_explained.append(NotExplained(key, "it could not be read"))
        elif not lines:
            message = f"its scheduler is `{scheduler_name}`"
            hint = f"the policy serves {', '.join(sorted(self.served))}"
            self.not_explained.append(NotExplained(key, message, hint))
        return lines
