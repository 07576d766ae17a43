"""Where a scenario takes place: a control plane with `kpolicy run`, actions on nodes, pods and
events, and checks of what can be seen from outside (bound, parked, tried again or not).

To prove that something does not happen, a test uses a plug: a node and a pod that are created after
the event. Both watches are in order, so the bind of the plug shows that the scheduler has seen the
event; a pod that it woke would have been tried by then. Must not import kpolicy.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from tests.cluster.audit import binds
from tests.cluster.client import Client, wait_for
from tests.cluster.connection import Json
from tests.cluster.control_plane import ControlPlane
from tests.cluster.users import NORMAL
from tests.e2e.at_rest import compared
from tests.e2e.rights import WRITES_ALLOWED
from tests.e2e.scheduler_process import SchedulerProcess
from tests.invariants.recording import Recording

PROFILE = "kpolicy"  # the profile of pods under test; that of plugs ends with "-plug"
PLUG_TAINT = {"key": "plug", "value": "only", "effect": "NoSchedule"}
# Most waits take milliseconds, but longer on a busy machine.
WITHIN_S = 90.0
_numbers = itertools.count(1)


class Stage:
    """The stage of one test, with its own namespace and its own nodes."""

    def __init__(
        self,
        plane: ControlPlane,
        scheduler: SchedulerProcess,
        namespace: str,
        profile: str = PROFILE,
    ) -> None:
        self.plane = plane
        self.profile = profile
        self.scheduler = scheduler
        self.namespace = namespace
        # To be told of what only the test knows, such as a policy that it puts in place.
        self.recorded: Recording | None = None
        plane.admin.create_namespace(namespace)

    @property
    def admin(self) -> Client:
        return self.plane.admin

    # To act --------------------------------------------------------------------------------

    def node(self, name: str, **fields: Any) -> str:
        self.admin.create_node(name, **fields)
        return name

    def pod(self, name: str, *, scheduler_name: str | None = None, **fields: Any) -> Json:
        profile = scheduler_name or self.profile
        return self.admin.create_pod(
            name, namespace=self.namespace, scheduler_name=profile, **fields
        )

    def patch_node(self, name: str, body: Mapping[str, Any], *, status: bool = False) -> None:
        self.admin.patch(f"/api/v1/nodes/{name}{'/status' if status else ''}", body)

    def patch_pod(self, name: str, body: object, *, kind: str = "merge", sub: str = "") -> None:
        self.admin.patch(self.path(name) + (f"/{sub}" if sub else ""), body, kind=kind)

    def delete_pod(self, name: str) -> None:
        self.admin.delete_pod(name, namespace=self.namespace)

    def delete_node(self, name: str) -> None:
        self.admin.delete(f"/api/v1/nodes/{name}")

    def path(self, pod: str) -> str:
        return f"/api/v1/namespaces/{self.namespace}/pods/{pod}"

    # To see --------------------------------------------------------------------------------

    def get(self, name: str) -> Json:
        return self.admin.pod(name, namespace=self.namespace)

    def placements(self) -> dict[str, str]:
        return self.admin.placements(self.namespace)

    def condition(self, name: str) -> dict[str, str]:
        for found in self.get(name)["status"].get("conditions", []):
            if found["type"] == "PodScheduled":
                return dict(found)
        return {}

    def events(self, name: str, reason: str | None = None) -> list[Json]:
        path = f"/apis/events.k8s.io/v1/namespaces/{self.namespace}/events"
        return [
            found
            for found in self.admin.list(path)
            if found["regarding"]["name"] == name and reason in (None, found["reason"])
        ]

    def the_event(self, name: str, reason: str) -> Json:
        """Waits for the pod's event with this reason, and checks that there is only one."""
        (event,) = wait_for(
            lambda: self.events(name, reason), f"{reason} of {name}", timeout_s=WITHIN_S
        )
        return event

    def bound(self, name: str, on: str | None = None, *, timeout_s: float = WITHIN_S) -> str:
        """Waits until the pod is bound; returns its node."""
        node = wait_for(
            lambda: self.get(name)["spec"].get("nodeName"),
            f"{name} to be bound",
            timeout_s=timeout_s,
        )
        assert on is None or node == on
        return str(node)

    def all_bound(self, count: int, *, timeout_s: float = WITHIN_S) -> dict[str, str]:
        wait_for(
            lambda: len(self.placements()) >= count,
            f"{count} pods to be bound",
            timeout_s=timeout_s,
        )
        return self.placements()

    def parked(self, name: str, why: str = "", *, timeout_s: float = WITHIN_S) -> str:
        """Waits until the pod's condition says that it is unschedulable, and why."""

        def message() -> str:
            found = self.condition(name)
            message = found.get("message", "") if found.get("reason") == "Unschedulable" else ""
            return message if why in message else ""

        text = wait_for(message, f"{name} to be parked for {why!r}", timeout_s=timeout_s)
        assert not self.get(name)["spec"].get("nodeName")
        return text

    def unbound(self, *names: str) -> None:
        """Checks that no pod is on a node, after the scheduler has seen everything so far."""
        self.prove_seen()
        placed = self.placements()
        assert [name for name in names if name in placed] == []

    def prove_seen(self) -> None:
        """When this returns, the scheduler has seen everything that was written before."""
        number = next(_numbers)
        label, name = {"plug": str(number)}, f"plug-{number}"
        self.node(name, cpu="1m", pods=1, labels=label, taints=[PLUG_TAINT])
        tolerations = [{"key": "plug", "operator": "Exists"}]
        self.pod(
            name,
            scheduler_name=f"{self.profile}-plug",
            cpu=None,
            memory=None,
            spec={"nodeSelector": label, "tolerations": tolerations},
        )
        self.bound(name, name)

    # The queue, from its metrics ------------------------------------------------------------

    def attempts(self) -> int:
        """Attempts for the pods under test; plugs have another profile."""
        return int(self.scheduler.metric("scheduler_schedule_attempts_total", profile=self.profile))

    def moves(self) -> Counter[str]:
        """How many pods were added to a queue, by the event that added them."""
        counted = self.scheduler.counts("scheduler_queue_incoming_pods_total", "event")
        return Counter({event: count for (event,), count in counted.items()})

    @contextmanager
    def tried_again(self, event: str) -> Iterator[None]:
        """The actions inside wake a pod under test by this event, and it is tried."""
        attempts, moved = self.attempts(), self.moves()[event]
        yield
        wait_for(
            lambda: self.attempts() > attempts, f"another attempt after {event}", timeout_s=WITHIN_S
        )
        assert self.moves()[event] > moved, f"{self.moves()} has no more {event}"

    @contextmanager
    def left_alone(self) -> Iterator[None]:
        """The actions inside wake no pod under test."""
        attempts = self.attempts()
        yield
        self.prove_seen()
        assert self.attempts() == attempts, f"the pod was tried again: {self.moves()}"

    # The end --------------------------------------------------------------------------------

    def compared(self) -> Json:
        """The differences that the scheduler finds between its cache and the API server."""
        return compared(self.scheduler)

    def settled(self, *, timeout_s: float = WITHIN_S) -> None:
        """Every reservation has ended, and nothing is being tried (I7)."""
        scheduler = self.scheduler

        def quiet() -> bool:
            assumed = scheduler.metric("scheduler_cache_size", type="assumed_pods")
            return assumed == scheduler.metric("kpolicy_reservations_open") == 0

        wait_for(quiet, "every reservation to end", timeout_s=timeout_s)

    def check(self) -> int:
        """Checks by the audit log what must hold for every run; returns the number of checked
        binds."""
        return check_writes(self.plane)

    def remove(self) -> None:
        """Deletes the pods of this stage, and all nodes."""
        self.admin.delete(f"/api/v1/namespaces/{self.namespace}/pods")
        self.admin.delete("/api/v1/nodes")

    def clear(self) -> None:
        """Deletes everything, and waits until the scheduler has seen it."""
        self.remove()

        def empty() -> bool:
            waiting = self.scheduler.metric("scheduler_pending_pods")
            kept = sum(self.scheduler.metric("scheduler_cache_size", type=kind) for kind in KINDS)
            return waiting == kept == 0

        wait_for(empty, "the scheduler to see that all is gone", timeout_s=WITHIN_S)


KINDS = ("nodes", "pods", "assumed_pods")


def check_writes(plane: ControlPlane, user: str = NORMAL) -> int:
    """I1 and I12: a uid is bound once, and nothing is written but what may be."""
    ours = [event for event in plane.audit_events() if event.user == user and event.writes]
    assert {(event.verb, event.what) for event in ours} <= WRITES_ALLOWED
    all_binds = binds(plane.audit_events())
    bound = Counter(bind.uid for bind in all_binds if bind.succeeded and bind.user == user)
    assert [uid for uid, times in bound.items() if times > 1] == []
    assert all(bind.uid for bind in all_binds if bind.user == user), "each bind names a uid"
    return len(bound)
