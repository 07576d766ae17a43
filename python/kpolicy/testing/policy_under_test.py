"""Policies in tests that are written in Python: load one, make a world, decide a pod, assert.

    policy = load_policy("policies/gpu-pools.yaml")
    world = policy.world(node("n1"), node("n2", labels={"disk": "ssd"}))
    world.decide(pod("p", cpu="1")).assert_placed("n2")

A failed assertion shows the whole explanation. Pods are decided by the same engine and program as
everywhere else.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from kpolicy.diagnostics import Diagnostic, did_you_mean
from kpolicy.offline.policy_tests.expectations import RuleNames, rule_names
from kpolicy.offline.policy_tests.observe import (
    PARK,
    PLACE,
    Observation,
    SmallCluster,
    Unobserved,
    small_cluster,
)
from kpolicy.offline.reports import explanation_text
from kpolicy.policy.assembly.assemble import Program
from kpolicy.policy.compile import compile_policy, shipped_names, shipped_source
from kpolicy.policy.yaml.source import Source

Object = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class PolicyUnderTest:
    """A compiled policy. Pods of the profile `scheduler_name` are decided."""

    program: Program
    scheduler_name: str
    diagnostics: tuple[Diagnostic, ...] = ()

    def world(self, *objects: Object, seed: int = 0) -> PolicyWorld:
        """Make a cluster of these objects: nodes, pods on them, namespaces, and so on."""
        items = [dict(item) for item in objects]
        made = small_cluster(self.program, (), items, seed=seed, now_ns=0)
        if made.unreadable:
            raise ValueError(f"an object cannot be read: {made.unreadable[0]}")
        return PolicyWorld(self, made)


@dataclass(frozen=True, slots=True)
class PolicyWorld:
    """Decides pods one after the other; each sees those that were placed before it."""

    policy: PolicyUnderTest
    _world: SmallCluster

    def decide(self, pod: Object) -> PolicyDecision:
        spec = {**pod.get("spec", {}), "schedulerName": self.policy.scheduler_name}
        metadata = dict(pod["metadata"])
        namespace = metadata.setdefault("namespace", "default")
        metadata.setdefault("uid", f"{namespace}/{metadata['name']}")
        observed = self._world.observe({**pod, "metadata": metadata, "spec": spec})
        if isinstance(observed, Unobserved):
            raise ValueError(observed.message)
        return PolicyDecision(observed, rule_names(self.policy.program)[self.policy.scheduler_name])


@dataclass(frozen=True, slots=True)
class PolicyDecision:
    """The decision about a pod. Assertions return it, and explain it fully when they fail."""

    observation: Observation
    _rules: RuleNames

    @property
    def node(self) -> str:
        """The node on which the pod was placed; empty if on none."""
        return self.observation.node

    @property
    def message(self) -> str:
        """Why the pod was not placed, as users see it."""
        return self.observation.message

    @property
    def victims(self) -> tuple[str, ...]:
        return self.observation.victims

    def score(self, node: str, rule: str = "") -> float:
        """Return the total of a node, or the score of one priority: after `normalize`, before
        `weight`."""
        __tracebackhide__ = True
        scored = self._node(node)
        if "total" not in scored:
            self._fail(f"{node} has no score: {_rejection(scored)}")
        if not rule:
            return float(scored["total"])
        weight = self._rules.weight(rule)
        if rule not in scored["weighted"] or not weight:
            hint = did_you_mean(rule, scored["weighted"])
            self._fail(f"the priority {rule} gives {node} no score" + _hinted(hint))
        return float(scored["weighted"][rule]) / weight

    def assert_placed(self, *nodes: str) -> PolicyDecision:
        """Assert that the pod was placed on one of these nodes, or on any node if none is named."""
        __tracebackhide__ = True
        wanted = f"on {' or '.join(nodes)}" if nodes else "on some node"
        if self.observation.decision != PLACE:
            self._fail(f"the pod should be placed {wanted}, and is not")
        if nodes and self.node not in nodes:
            self._fail(f"the pod should be placed {wanted}, and is on {self.node}")
        return self

    def assert_parked(self, containing: str = "") -> PolicyDecision:
        """Assert that the pod fits on no node, and that the message contains this text."""
        __tracebackhide__ = True
        if self.observation.decision != PARK:
            self._fail(f"the pod should fit nowhere, and is on {self.node or 'hold by a gate'}")
        if containing not in self.message:
            self._fail(f"the message should contain {containing!r}, and is {self.message!r}")
        return self

    def assert_passes(self, *nodes: str) -> PolicyDecision:
        """Assert that no rule rejects these nodes."""
        __tracebackhide__ = True
        for name in nodes:
            node = self._node(name)
            if "filter" in node:
                self._fail(f"{name} should pass: {_rejection(node)}")
        return self

    def assert_rejected(
        self, node: str, by: str = "", *, reason: str = "", message: str = ""
    ) -> PolicyDecision:
        """Assert that the node is rejected: by this rule, for this reason, with this text in the
        message. Any of the rules that reject the node may match."""
        __tracebackhide__ = True
        found = self._node(node)
        if "filter" not in found:
            self._fail(f"{node} should be rejected{f' by {by}' if by else ''}, and passes")
        if by and by not in self._rules.filters:
            hint = did_you_mean(by, self._rules.filters)
            self._fail(f"the policy has no predicate {by}" + _hinted(hint))
        rejecting = found.get("allFilters") or [found["filter"]]
        if by:
            rejecting = [status for status in rejecting if status["plugin"] == by]
        if not rejecting:
            self._fail(f"{node} should be rejected by {by}: {_rejection(found)}")
        if reason and all(self._rules.reason(status["plugin"]) != reason for status in rejecting):
            have = ", ".join(self._rules.reason(status["plugin"]) for status in rejecting)
            self._fail(f"{node} should be rejected with the reason {reason}, and is with {have}")
        texts = [text for status in rejecting for text in status["reasons"]]
        if message and not any(message in text for text in texts):
            self._fail(f"{node} should be rejected with {message!r}, and is with {texts}")
        return self

    def explain(self) -> str:
        """Return the full explanation, as `kpolicy explain` prints it."""
        return "\n".join(explanation_text.text(self.observation.explained))

    def _node(self, name: str) -> Mapping[str, Any]:
        __tracebackhide__ = True
        nodes = self.observation.nodes
        if name not in nodes:
            hint = did_you_mean(name, nodes) or f"there are {', '.join(nodes) or 'none'}"
            self._fail(f"there is no node {name}" + _hinted(hint))
        return nodes[name]

    def _fail(self, what: str) -> NoReturn:
        __tracebackhide__ = True
        raise AssertionError(f"{what}\n\n{self.explain()}")


def load_policy(
    *sources: str | Path | Source,
    profile: str = "",
    params: Mapping[str, Any] | None = None,
    release: str = "",
    feature_gates: Mapping[str, bool] | None = None,
) -> PolicyUnderTest:
    """Load a policy from files, or a shipped one by name. Name the `profile` if it has several.
    `release` and `feature_gates` say whose decisions are tested, as in `compile_policy`.

    A policy with errors fails the test and shows its findings.
    """
    __tracebackhide__ = True
    compiled = compile_policy(
        [_source(source) for source in sources],
        params=params,
        release=release,
        feature_gates=feature_gates,
    )
    if compiled.program is None:
        raise AssertionError(_errors_text(compiled.diagnostics))
    names = compiled.program.scheduler_names
    if profile and profile not in names:
        raise AssertionError(f"the policy has no profile {profile}; it serves {', '.join(names)}")
    if not profile and len(names) > 1:
        raise AssertionError(f"name the profile: the policy serves {', '.join(names)}")
    return PolicyUnderTest(compiled.program, profile or names[0], compiled.diagnostics)


def _source(written: str | Path | Source) -> Source:
    if isinstance(written, Source):
        return written
    path = Path(written)
    if not path.exists() and str(written) in shipped_names():
        return shipped_source(str(written))
    return Source(str(path), path.read_bytes())


def _errors_text(diagnostics: Sequence[Diagnostic]) -> str:
    lines = [
        f"  {found.place}: {found.code} {found.message}{_hinted(found.hint)}"
        for found in diagnostics
        if found.is_error and found.place is not None
    ]
    return "\n".join(["the policy has errors", *lines])


def _hinted(hint: str) -> str:
    return f" ({hint})" if hint else ""


def _rejection(node: Mapping[str, Any]) -> str:
    if "filter" not in node:
        return "it passes"
    status = node["filter"]
    return f"it is rejected by {status['plugin']}: {', '.join(status['reasons'])}"
