"""Scenes in which a scheduler is tempted to write too much: pods that fit nowhere and are woken
again and again, a namespace that is being deleted, and events that are gone.

Half of the pods fit. The others ask for a label that a node brings with each wave, and for more
processors than it has, so that each wave wakes them for nothing. Between waves a bound pod is
deleted, which wakes them without changing the message.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from benches.cluster.contenders import Contender
from benches.cluster.requests import Kind, counted
from tests.cluster.client import wait_for
from tests.cluster.control_plane import ControlPlane
from tests.cluster.process import Process

_LABEL: Final = {"disk": "ssd"}
_SETTLED_WITHIN_S: Final = 300.0
# Longer than the back-off of a pod after so many attempts, so that each wave reaches each pod.
_WAVE_S: Final = 15.0
Say = Callable[[str], None]


def run(
    plane: ControlPlane, contender: Contender, pods: int, folder: Path, say: Say
) -> Counter[Kind]:
    """The writes of one scheduler in all scenes."""
    letters = contender.scheduler_name
    seen = len(plane.audit_events())
    process = Process(letters, contender.command(plane, folder), folder / f"{letters}.log")
    with _stage(plane, contender, pods) as stage:
        process.start()
        try:
            wait_for(stage.is_settled, "every pod to be tried", timeout_s=_SETTLED_WITHIN_S)
            say(f"{contender.name}: pods that fit nowhere are woken")
            stage.waves(2)
            say(f"{contender.name}: a namespace is being deleted")
            stage.end_namespace()
            stage.waves(3)
            say(f"{contender.name}: events are gone")
            stage.lose_events()
            stage.waves(2)
            process.raise_if_ended()
        finally:
            process.stop()
    return counted(plane.audit_events()[seen:], contender.user)


class _Stage:
    def __init__(self, plane: ControlPlane, contender: Contender, pods: int) -> None:
        self._admin = plane.admin
        self._name = contender.scheduler_name
        self._busy, self._ending = f"busy-{self._name}", f"ending-{self._name}"
        self._fitting = pods
        self._nodes = 0
        for namespace in (self._busy, self._ending):
            self._admin.create_namespace(namespace)
            self._admin.create_pods(
                pods // 2,
                prefix="wide",
                namespace=namespace,
                scheduler_name=self._name,
                cpu="100",
                spec={"nodeSelector": _LABEL},
            )
        self._admin.create_pods(
            pods, prefix="fits", namespace=self._busy, scheduler_name=self._name
        )

    def is_settled(self) -> bool:
        pods = [*self._admin.pods(self._busy), *self._admin.pods(self._ending)]
        tried = sum(bool(pod["status"].get("conditions")) for pod in pods)
        return tried == len(pods) and len(self._admin.placements(self._busy)) == self._fitting

    def waves(self, count: int) -> None:
        for _ in range(count):
            self._admin.create_node(f"extra-{self._name}-{self._nodes}", cpu="1", labels=_LABEL)
            self._nodes += 1
            time.sleep(_WAVE_S)
            for _ in range(2):
                bound = min(self._admin.placements(self._busy))
                self._admin.delete_pod(bound, namespace=self._busy)
                time.sleep(_WAVE_S)

    def end_namespace(self) -> None:
        """It stays in this state: nothing here removes what is in it."""
        self._admin.delete(f"/api/v1/namespaces/{self._ending}")

    def lose_events(self) -> None:
        self._admin.delete(f"/apis/events.k8s.io/v1/namespaces/{self._busy}/events")

    def clear(self) -> None:
        for namespace in (self._busy, self._ending):
            self._admin.delete(f"/api/v1/namespaces/{namespace}/pods")
        for number in range(self._nodes):
            self._admin.delete(f"/api/v1/nodes/extra-{self._name}-{number}")


@contextmanager
def _stage(plane: ControlPlane, contender: Contender, pods: int) -> Iterator[_Stage]:
    stage = _Stage(plane, contender, pods)
    try:
        yield stage
    finally:
        stage.clear()
