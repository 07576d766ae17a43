"""KP130: names that Kubernetes or kube-scheduler have given up, and what is used instead.

Owns the two tables, of label keys and of built-ins. Documents of old kinds name old things on
purpose, and are not told. Must not know values.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from kpolicy.diagnostics import Diagnostic
from kpolicy.policy.cel.tree import Constant, Fact, Tree, own_nodes, read_of
from kpolicy.policy.lint.terms import is_literal
from kpolicy.policy.lint.written import WrittenPolicy

_LABELS: Final = {
    "failure-domain.beta.kubernetes.io/zone": "topology.kubernetes.io/zone",
    "failure-domain.beta.kubernetes.io/region": "topology.kubernetes.io/region",
    "beta.kubernetes.io/instance-type": "node.kubernetes.io/instance-type",
    "beta.kubernetes.io/os": "kubernetes.io/os",
    "beta.kubernetes.io/arch": "kubernetes.io/arch",
    "node-role.kubernetes.io/master": "node-role.kubernetes.io/control-plane",
}
_STRATEGY: Final = "`builtin: NodeResourcesFit` with `args: {{strategy: {}}}`"
_BUILTINS: Final = {
    **dict.fromkeys(
        ("EBSLimits", "GCEPDLimits", "AzureDiskLimits", "CinderLimits"),
        "`NodeVolumeLimits`: volumes of this kind are those of a CSI driver now",
    ),
    "NodeResourcesLeastAllocated": _STRATEGY.format("LeastAllocated"),
    "NodeResourcesMostAllocated": _STRATEGY.format("MostAllocated"),
    "RequestedToCapacityRatio": _STRATEGY.format("RequestedToCapacityRatio"),
    "NodePreferAvoidPods": "a taint with the effect `PreferNoSchedule`, and `TaintToleration`",
}


def deprecated(policy: WrittenPolicy) -> Iterator[Diagnostic]:
    if policy.policy.kind != "SchedulingPolicy":
        return
    spec = policy.policy.model.spec
    for side, rules in (("predicates", spec.predicates), ("priorities", spec.priorities)):
        for index, rule in enumerate(rules):
            instead = _BUILTINS.get(rule.builtin or "")
            if instead is not None:
                at = ("spec", side, index, "builtin")
                message = f"kube-scheduler has given up `{rule.builtin}`"
                yield policy.policy.remark("KP130", message, at, hint=f"use {instead}")
    for one in policy.all():
        told: set[str] = set()
        for key in _keys(one.tree):
            if key.value not in told:
                told.add(str(key.value))
                message = f"Kubernetes has given up the label `{key.value}`"
                hint = f"use `{_LABELS[str(key.value)]}`"
                yield policy.say(one, "KP130", message, key.span, hint)


def _keys(tree: Tree) -> Iterator[Constant]:
    for part in own_nodes(tree):
        fact = read_of(part)
        if not isinstance(fact, Fact):
            continue
        names = fact.name.split(".")
        of_domain = "domain" in names or names[-1] == "domains"
        keys = fact.args[:1] if of_domain else fact.args[-1:] if names[-1] == "labels[]" else ()
        yield from (key for key in keys if is_literal(key) and key.value in _LABELS)
