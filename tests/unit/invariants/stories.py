"""Small histories for the tests of invariants: a good one, and functions to spoil it."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from kpolicy.testing.builders import node, pod
from tests.invariants.history import (
    ADDED,
    BINDING,
    DECISION_ID,
    DELETED,
    LEASE,
    MODIFIED,
    POLICY_HASH,
    SECOND_NS,
    SNAPSHOT_VERSION,
    STATUS,
    AtRest,
    Change,
    History,
    PolicyOffer,
    Terms,
    Write,
)

_PLURALS = {
    "Pod": "pods",
    "Node": "nodes",
    "ConfigMap": "configmaps",
    "PersistentVolume": "persistentvolumes",
    "PersistentVolumeClaim": "persistentvolumeclaims",
    "PodDisruptionBudget": "poddisruptionbudgets",
}
US, THEM = "kpolicy", "other"
HASH = "sha256:good"
SHORT = Terms(converge_s=10, rest_s=10, lag_s=0.0)


@dataclass
class Story:
    """The server's side of a run, told step by step; a second passes with each."""

    changes: list[Change] = field(default_factory=list)
    writes: list[Write] = field(default_factory=list)
    at_s: int = 0
    decisions: int = 0
    objects: dict[str, dict[str, Any]] = field(default_factory=dict)

    @property
    def version(self) -> int:
        return self.changes[-1].version if self.changes else 0

    @property
    def now_ns(self) -> int:
        return self.at_s * SECOND_NS

    def there(self, body: Mapping[str, Any], **changed: Any) -> str:
        """Create an object, or change its spec; its name."""
        self.at_s += 1
        name = str(body["metadata"]["name"])
        held = copy.deepcopy(dict(body))
        type_ = MODIFIED if name in self.objects else ADDED
        held["metadata"].setdefault("uid", self._uid(name, type_))
        held.setdefault("spec", {}).update(changed)
        self._record_change(_PLURALS[held["kind"]], type_, held)
        return name

    def change(self, name: str, *, status: Any = None, meta: Any = None, **changed: Any) -> None:
        held = copy.deepcopy(self.objects[name])
        held["spec"].update(changed)
        held["metadata"].update(meta or {})
        held.setdefault("status", {}).update(status or {})
        self.there(held)

    def gone(self, name: str) -> None:
        self.at_s += 1
        held = self.objects.pop(name)
        self._record_change(_PLURALS[held["kind"]], DELETED, held)

    def bind(
        self,
        name: str,
        to: str,
        *,
        user: str = US,
        instance: str = "a1",
        code: int = 201,
        seen: int | None = None,
        policy: str = HASH,
        number: int | None = None,
        landed: bool = False,
    ) -> None:
        """`landed`: although the client was told otherwise."""
        self.decisions += 1
        annotations = {
            DECISION_ID: f"{instance}-{self.decisions if number is None else number}",
            SNAPSHOT_VERSION: str(self.version if seen is None else seen),
            POLICY_HASH: policy,
        }
        if user != US:
            annotations = {}
        uid = self.objects[name]["metadata"]["uid"]
        if code == 201 or landed:
            had = self.objects[name]["metadata"].get("annotations") or {}
            self.change(name, nodeName=to, meta={"annotations": {**had, **annotations}})
        self.write(
            "create",
            BINDING,
            name,
            code=code,
            user=user,
            request={
                "metadata": {"uid": uid, "annotations": annotations},
                "target": {"name": to},
            },
        )

    def lease(self, instance: str) -> None:
        self.at_s += 1
        response = {"spec": {"holderIdentity": f"host_1_{instance}" if instance else ""}}
        self.write("update", LEASE, "kpolicy", response=response)

    def write(
        self,
        verb: str,
        what: str,
        name: str,
        *,
        code: int = 200,
        user: str = US,
        request: Any = None,
        response: Any = None,
    ) -> None:
        self.writes.append(
            Write(
                self.now_ns, self.now_ns, user, verb, what, "default", name, code, request, response
            )
        )

    def explained(self, name: str) -> None:
        """A pod that waits says why."""
        condition = {"type": "PodScheduled", "status": "False", "message": "0/1 nodes"}
        self.change(name, status={"conditions": [condition]})
        self.write("patch", STATUS, name)

    def rests(self, **rest: Any) -> History:
        """Calm since now, and long enough; what waits is parked unless `rest` says otherwise."""
        calm_ns = self.now_ns
        parked = {
            held["metadata"]["uid"]: "PARKED"
            for held in self.objects.values()
            if held["kind"] == "Pod" and not held["spec"].get("nodeName")
        }
        self.at_s += 30
        return replace(
            self.history(),
            calm_since_ns=calm_ns,
            ended_ns=self.now_ns,
            at_rest=AtRest(
                **{
                    "at_ns": self.now_ns,
                    "pending": len(parked),
                    "queued": parked,
                    "compared": (),
                    **rest,
                }
            ),
        )

    def history(self) -> History:
        return History(
            users=frozenset({US}),
            profiles=frozenset({"kpolicy"}),
            changes=tuple(self.changes),
            writes=tuple(self.writes),
            policies=(PolicyOffer(0, HASH),),
            ended_ns=self.now_ns,
            terms=SHORT,
        )

    def _uid(self, name: str, type_: str) -> str:
        return f"{name}-{self.version}" if type_ == ADDED else self.objects[name]["metadata"]["uid"]

    def _record_change(self, resource: str, type_: str, held: dict[str, Any]) -> None:
        version = self.version + 1
        held["metadata"]["resourceVersion"] = str(version)
        if type_ != DELETED:
            self.objects[held["metadata"]["name"]] = held
        self.changes.append(Change(resource, type_, version, self.now_ns, held))


def good() -> Story:
    """Two nodes, two pods bound by a leader, one that waits and says why."""
    story = Story()
    story.lease("a1")
    story.there(node("n1", cpu="2"))
    story.there(node("n2", cpu="1"))
    for name in ("one", "two"):
        story.there(pod(name, cpu="1"))
    story.there(pod("large", cpu="8"))
    story.bind("one", "n1")
    story.bind("two", "n1")
    story.explained("large")
    return story
