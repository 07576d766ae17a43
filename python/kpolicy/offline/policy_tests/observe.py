"""What the engine decides for one pod, by the same calls that decide online (B8), and what
cel-python says of the rules.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from kpolicy.engine import Engine, HeldPod, PodChange, Verdict, WaitingPod
from kpolicy.offline.answers.evaluate import Evaluating, profile_expressions
from kpolicy.offline.limits import CROSS_CHECKED_NODES_MAX
from kpolicy.offline.policy_tests.results import CrossChecked, Mismatch
from kpolicy.offline.snapshots.cluster_snapshot import Text, key_of_pod, loaded_engine
from kpolicy.offline.snapshots.json_objects import Json
from kpolicy.policy.assembly.assemble import Program
from kpolicy.policy.compile import Examined
from kpolicy.quick_dataclass import dataclass

if TYPE_CHECKING:
    from kpolicy.offline.answers.cross_check import CrossCheck
    from kpolicy.offline.answers.plugged_decisions import PluggedDecisions

PLACE: Final = "place"
PARK: Final = "park"
GATE: Final = "gate"
_DECISIONS: Final = {
    Verdict.PLACED: PLACE,
    Verdict.PARKED: PARK,
    Verdict.FAILED: PARK,
    Verdict.GATED: GATE,
    Verdict.NOT_READY: PARK,
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
    """Everything that can be compared. `explained` is a line of `kpolicy explain --output json`."""

    pod: str
    decision: str
    node: str
    message: str
    nominated: str
    victims: tuple[str, ...]
    explained: Mapping[str, Any]
    errors: tuple[RuleError, ...] = ()
    audited: tuple[str, ...] = ()
    # The values of each part of each expression, as the engine reports them.
    seen: tuple[Mapping[str, Any], ...] = ()
    # The hold that keeps the pod from being tried.
    held_by: str = ""

    @property
    def nodes(self) -> dict[str, Mapping[str, Any]]:
        return {node["name"]: node for node in self.explained.get("nodes", ())}


@dataclass(frozen=True, slots=True)
class Unobserved:
    """Why there is nothing to compare."""

    message: str
    hint: str = ""


@dataclass(slots=True)
class SmallCluster:
    """An engine that holds the objects of a test, and which of them could not be read."""

    engine: Engine
    now_ns: int
    unreadable: list[str] = field(default_factory=list)
    # Decides where plugins are asked.
    plugged: PluggedDecisions | None = None

    def observe(
        self, pod: Json, on_explained: Callable[[str, Sequence[str]], None] = lambda *_: None
    ) -> Observation | Unobserved:
        """Adds the pod, explains it, and places it if it fits.

        `on_explained` gets the pod's key and the names of the nodes before the pod is placed."""
        change = self.admit(pod)
        if isinstance(change, Unobserved):
            return change
        [(change, held)] = self.in_turn([change])
        return self.tried(change, held, on_explained)

    def in_turn(self, pods: Sequence[PodChange]) -> Iterator[tuple[PodChange, HeldPod | None]]:
        """Pods that were admitted and wait together, in the order in which they are tried; those
        that are held come last. Each must have been tried before the next one is asked for."""
        waiting = {pod.uid: pod for pod in pods}
        if not self.engine.orders_queue():
            yield from ((pod, None) for pod in sorted(pods, key=lambda pod: -pod.priority))
            return
        entered = [WaitingPod(uid, at, at, 0, is_set_aside=False) for at, uid in enumerate(waiting)]
        held: dict[str, HeldPod] = {}
        is_more = True
        while is_more:
            following = self.engine.next_pods(entered, [], 1, len(pods), self.now_ns)
            entered, picked, is_more = [], following.picked, following.is_more
            held |= {each.uid: each for each in following.held}
            if picked:
                # What is handed out counts as its tenant's, and is to be explained as what waits.
                following = self.engine.next_pods([], picked, 0, len(pods), self.now_ns)
                held |= {each.uid: each for each in following.held}
                is_more = True
                yield from ((waiting.pop(uid), None) for uid in picked)
        self.engine.next_pods([], list(waiting), 0, 0, self.now_ns)
        yield from ((pod, held[uid]) for uid, pod in waiting.items())

    def admit(self, pod: Json) -> PodChange | Unobserved:
        """Adds the pod, which then is pending."""
        if not isinstance(pod.get("metadata"), dict):
            return Unobserved("the pod has no metadata")
        key = f"{pod['metadata'].get('namespace') or 'default'}/{pod['metadata'].get('name')}"
        problems = self.add([pod])
        if problems:
            return Unobserved(f"the pod cannot be read: {problems[0]}")
        change = {key_of_pod(pending): pending for pending in self.engine.pending()}.get(key)
        if change is None:
            return Unobserved(f"{key} is not pending", "it has a node already, or is ending")
        return change

    def tried(
        self,
        change: PodChange,
        held: HeldPod | None,
        on_explained: Callable[[str, Sequence[str]], None],
    ) -> Observation | Unobserved:
        """Explains a pod that is pending, and places it if it fits and nothing holds it."""
        key = key_of_pod(change)
        request = json.dumps({"pods": [key], "parts": True}).encode()
        lines = self.engine.explain(request, self.now_ns).splitlines()
        if not lines:
            name = change.scheduler_name
            return Unobserved(f"no profile of the policy serves the scheduler name `{name}`")
        explained: dict[str, Any] = json.loads(lines[0])
        seen = explained.pop("seen", [])
        on_explained(key, [node["name"] for node in explained.get("nodes", ())])
        errors = tuple(
            RuleError(rule["rule"], error.get("node", ""), error["code"], error["message"])
            for rule in seen
            for error in rule["errors"]
        )
        if held is not None:
            return Observation(
                key,
                GATE,
                "",
                held.message,
                "",
                (),
                explained,
                errors=errors,
                seen=tuple(seen),
                held_by=held.hold,
            )
        before = self._audited()
        if self.plugged is not None:
            decision = self.plugged.decide_now(change)
        else:
            [decision] = self.engine.schedule([change.uid], self.now_ns).decisions
        audited = (rule for rule, count in self._audited().items() if count > before.get(rule, 0))
        return Observation(
            pod=key,
            decision=_DECISIONS.get(Verdict(decision.verdict), PARK),
            node=decision.node,
            message=decision.message,
            nominated=decision.nominated_node,
            victims=tuple(victim.key for victim in decision.victims),
            explained=explained,
            errors=errors,
            audited=tuple(sorted(audited)),
            seen=tuple(seen),
        )

    def add(self, items: Sequence[Json]) -> list[str]:
        """Returns what could not be read."""
        if self.plugged is not None:
            self.plugged.see(items)
        document = {"apiVersion": "v1", "kind": "List", "items": list(items)}
        unread = self.engine.load_objects(json.dumps(document).encode(), "")
        return [f"{failure.object}: {failure.message}" for failure in unread]

    def _audited(self) -> dict[str, int]:
        rules = json.loads(self.engine.statistics())["rules"]
        return {name.partition("/")[2]: counts["audited"] for name, counts in rules.items()}


def small_cluster(
    program: Program, texts: Iterable[Text], items: Sequence[Json], *, seed: int, now_ns: int
) -> SmallCluster:
    """An engine with these objects; raises `PolicyRefusedError`."""
    made = SmallCluster(loaded_engine(program, seed), now_ns)
    for text in texts:
        made.engine.load_objects(text.body, "")
    made.unreadable = made.add(items) if items else []
    return made


@dataclass(slots=True)
class CrossChecks:
    """Collects the results of the comparisons of one test, each difference once for a rule."""

    examined: Examined
    profile: str
    compared: int = 0
    known: dict[str, None] = field(default_factory=dict)
    unknown: dict[str, Mismatch] = field(default_factory=dict)

    def compare(self, cluster: SmallCluster, pod: str, nodes: Sequence[str]) -> None:
        """Evaluates every expression of the profile for a pending pod, on the first nodes."""
        from kpolicy.offline.answers.cross_check import cross_check  # noqa: PLC0415  rarely asked

        for place, names in profile_expressions(self.examined, self.profile):
            work = Evaluating(names=names, engine=cluster.engine, now_ns=cluster.now_ns)
            evaluate = partial(work.evaluate, pod=pod)
            for node in nodes[:CROSS_CHECKED_NODES_MAX]:
                check = cross_check(names.expression, partial(evaluate, node=node))
                self.compared += bool(check.compared)
                self._note(place, node, check)

    def _note(self, place: str, node: str, check: CrossCheck) -> None:
        difference = check.difference
        if difference is None:
            return
        if difference.known is not None:
            self.known[f"{place}: {difference}"] = None
            return
        what = f"cross-check of {place} on {node}, `{difference.part}`"
        mismatch = Mismatch(what, f"cel-python: {difference.theirs}", f"kpolicy: {difference.ours}")
        self.unknown.setdefault(f"{place} {difference.part}", mismatch)

    def result(self) -> CrossChecked:
        return CrossChecked(self.compared, tuple(self.known))
