"""What becomes of one pod: asked of the engine, with names.

Owns `World` (an engine that holds a test's objects) and `Observation`. Everything comes from the
engine's `explain` and `schedule`, the same calls that decide online (B8). Must not compare.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from kpolicy.engine import Decision, Engine, Verdict
from kpolicy.offline.snapshots.json_objects import Json
from kpolicy.offline.snapshots.snapshot import PolicyRefusedError, Text
from kpolicy.policy.assembly.program import Program

PLACE: Final = "place"
PARK: Final = "park"
GATE: Final = "gate"
_DECISIONS: Final = {
    Verdict.PLACED: PLACE,
    Verdict.PARKED: PARK,
    Verdict.FAILED: PARK,
    Verdict.GATED: GATE,
}


@dataclass(frozen=True, slots=True)
class RuleError:
    """An expression that could not be evaluated; `node` is empty for a match condition."""

    rule: str
    node: str
    code: str
    message: str

    def __str__(self) -> str:
        where = f" on {self.node}" if self.node else ""
        return f"{self.rule}{where}: {self.message} ({self.code})"


@dataclass(frozen=True, slots=True)
class Observation:
    """All there is to compare. `explained` is a line of `kpolicy explain --output json`."""

    pod: str
    decision: str
    node: str
    message: str
    nominated: str
    victims: tuple[str, ...]
    explained: Mapping[str, Any]
    errors: tuple[RuleError, ...] = ()
    audited: tuple[str, ...] = ()
    # What each part of each expression gave, as the engine tells it.
    seen: tuple[Mapping[str, Any], ...] = ()

    @property
    def nodes(self) -> dict[str, Mapping[str, Any]]:
        return {node["name"]: node for node in self.explained.get("nodes", ())}


@dataclass(frozen=True, slots=True)
class Unobserved:
    """Why there is nothing to compare."""

    message: str
    hint: str = ""


@dataclass(slots=True)
class World:
    """One engine, and what of it could not be read."""

    engine: Engine
    now_ns: int
    unreadable: list[str] = field(default_factory=list)

    def observe(self, pod: Json) -> Observation | Unobserved:
        """The pod comes, is judged, and is placed if it can be."""
        if not isinstance(pod.get("metadata"), dict):
            return Unobserved("the pod has no metadata")
        key = _key(pod)
        problems = self.add([pod])
        if problems:
            return Unobserved(f"the pod cannot be read: {problems[0]}")
        waiting = {f"{one.namespace}/{one.name}": one for one in self.engine.pending()}
        change = waiting.get(key)
        if change is None:
            return Unobserved(f"{key} is not pending", "it has a node already, or is ending")
        request = json.dumps({"pods": [key], "parts": True}).encode()
        lines = self.engine.explain(request, self.now_ns).splitlines()
        if not lines:
            name = change.scheduler_name
            return Unobserved(f"no profile of the policy serves the scheduler name `{name}`")
        explained: dict[str, Any] = json.loads(lines[0])
        seen = explained.pop("seen", [])
        before = self._audited()
        [decision] = self.engine.schedule([change.uid], self.now_ns).decisions
        after = self._audited()
        audited = sorted(rule for rule, count in after.items() if count > before.get(rule, 0))
        return self._observation(key, decision, explained, seen, audited)

    def add(self, items: Sequence[Json]) -> list[str]:
        """What could not be read of them."""
        document = {"apiVersion": "v1", "kind": "List", "items": list(items)}
        unread = self.engine.load_objects(json.dumps(document).encode(), "")
        return [f"{one.object}: {one.message}" for one in unread]

    def _audited(self) -> dict[str, int]:
        rules = json.loads(self.engine.statistics())["rules"]
        return {name.partition("/")[2]: told["audited"] for name, told in rules.items()}

    def _observation(
        self, key: str, decision: Decision, explained: Json, seen: list[Json], audited: list[str]
    ) -> Observation:
        errors = [
            RuleError(rule["rule"], error.get("node", ""), error["code"], error["message"])
            for rule in seen
            for error in rule["errors"]
        ]
        return Observation(
            pod=key,
            decision=_DECISIONS.get(Verdict(decision.verdict), PARK),
            node=decision.node,
            message=decision.message,
            nominated=decision.nominated_node,
            victims=tuple(victim.key for victim in decision.victims),
            explained=explained,
            errors=tuple(errors),
            audited=tuple(audited),
            seen=tuple(seen),
        )


def world(
    program: Program, texts: Iterable[Text], items: Sequence[Json], *, seed: int, now_ns: int
) -> World:
    """An engine with these objects; raises `PolicyRefusedError`."""
    engine = Engine(seed)
    refusals = engine.load(program.bytes)
    if refusals:
        raise PolicyRefusedError(refusals)
    made = World(engine, now_ns)
    for text in texts:
        engine.load_objects(text.body, "")
    made.unreadable = made.add(items) if items else []
    return made


def _key(item: Json) -> str:
    metadata = item["metadata"]
    return f"{metadata.get('namespace') or 'default'}/{metadata.get('name')}"
