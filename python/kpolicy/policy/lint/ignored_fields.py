"""KP325: fields of pods and nodes that a policy ignores, because it has no rule that keeps to them.

A policy that stands on the default profile ignores nothing. It does so where it removes one of the
built-ins, or says `base: none`. Files of kube-scheduler are not reported: they mean what they mean
there.
"""

from __future__ import annotations

from collections.abc import Collection, Container, Iterator, Mapping, Sequence
from itertools import chain
from typing import Final

from kpolicy.diagnostics import Diagnostic
from kpolicy.policy.assembly.read_policy import Policy
from kpolicy.policy.assembly.resolve import Resolution, Served
from kpolicy.policy.cel.tree import Fact, Tree, Variable, own_nodes, read_of
from kpolicy.policy.lint.written import RuleExpression, WrittenPolicy
from kpolicy.policy.models.scheduling_policy import BASE_DEFAULT, KIND, Predicate
from kpolicy.policy.yaml.nodes import Path, find
from kpolicy.quick_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class _Field:
    """What a built-in keeps to, and the facts by which an expression can do so instead."""

    name: str
    facts: tuple[str, ...]


_VOLUMES: Final = ("pod.volumes", "pod.spec.volumes")
# By built-in. NodeName is left out: a pod that names its node is not scheduled.
FIELDS: Final[Mapping[str, _Field]] = {
    "NodeUnschedulable": _Field(
        "`spec.unschedulable` of nodes", ("node.unschedulable", "node.spec.unschedulable")
    ),
    "TaintToleration": _Field("taints of nodes", ("node.taints", "node.spec.taints")),
    "NodeAffinity": _Field(
        "`spec.nodeSelector` and `spec.affinity.nodeAffinity`",
        ("pod.nodeSelector", "pod.spec.nodeSelector", "pod.spec.affinity"),
    ),
    "NodePorts": _Field("`hostPort` of containers", ("pod.containers", "pod.spec.containers")),
    "NodeResourcesFit": _Field(
        "requests of containers", ("node.fits", "node.free", "node.requested")
    ),
    "VolumeRestrictions": _Field("volumes that only one pod or node may use", _VOLUMES),
    "NodeVolumeLimits": _Field("the most volumes that a node can attach", _VOLUMES),
    "VolumeBinding": _Field("node affinity of volumes", _VOLUMES),
    "VolumeZone": _Field("zones of volumes", _VOLUMES),
    "PodTopologySpread": _Field(
        "`spec.topologySpreadConstraints`", ("pod.spec.topologySpreadConstraints",)
    ),
    "InterPodAffinity": _Field(
        "`spec.affinity.podAffinity` and `spec.affinity.podAntiAffinity`", ("pod.spec.affinity",)
    ),
    "DynamicResources": _Field(
        "`spec.resourceClaims` and extended resources behind a DeviceClass",
        ("pod.spec.resourceClaims",),
    ),
    "NodeDeclaredFeatures": _Field(
        "features that a pod needs of its node", ("node.status.declaredFeatures",)
    ),
}


def ignored_fields(written: WrittenPolicy, resolution: Resolution) -> Iterator[Diagnostic]:
    """The findings about a policy, in every profile that it serves."""
    policy = written.policy
    if policy.kind != KIND or policy.is_addition:
        return
    read: set[str] = set()
    variables: set[str] = set()
    for rule in filter(_enforced, written.rules):
        read.update(_facts(rule.expression.tree, variables))
    for profile in resolution.profiles.values():
        for served in profile:
            if served.effective.policy is policy:
                missing = [b for b in _missing(profile) if not _reads(read, FIELDS[b].facts)]
                yield from _findings(served, missing, resolution.effectives)


def _missing(profile: Sequence[Served]) -> list[str]:
    """The built-ins that no policy of the profile asks about all of its pods."""
    rules = chain.from_iterable(served.predicates for served in profile)
    present = {rule.written.rule.builtin for rule in rules if not rule.unless}
    return [builtin for builtin in FIELDS if builtin not in present]


def _enforced(rule: RuleExpression) -> bool:
    return (
        isinstance(rule.rule, Predicate) and rule.rule.enabled and rule.rule.enforcement == "deny"
    )


def _facts(tree: Tree, seen: set[str]) -> Iterator[str]:
    """The names of the facts; `seen` are the variables that were looked into before."""
    for part in own_nodes(tree):
        read = read_of(part)
        if isinstance(read, Fact):
            yield read.name
        if isinstance(part, Variable) and part.name not in seen:
            seen.add(part.name)
            yield from _facts(part.value, seen)


def _reads(read: Collection[str], facts: tuple[str, ...]) -> bool:
    return any(f"{name}.".startswith((f"{fact}.", f"{fact}[")) for name in read for fact in facts)


def _findings(served: Served, missing: Sequence[str], own: Container[str]) -> Iterator[Diagnostic]:
    """`own`: the names of the policies that are linted; a base may be another."""
    policy = served.effective.policy
    of_bases = {
        rule.rule.builtin: rule.name
        for base in served.effective.predicates_of_bases
        for rule in (base.written,)
    }
    left: list[str] = []
    for builtin in missing:
        at = _removed_at(served, of_bases.get(builtin)) if builtin in of_bases else None
        if at is not None:
            is_conditional = bool(policy.model.spec.match_conditions) and at[1] == "predicates"
            pods = " for the pods that this policy matches" if is_conditional else ""
            message = f"without `{builtin}` this is ignored{pods}: {FIELDS[builtin].name}"
            yield policy.remark("KP325", message, at)
        elif builtin not in of_bases:
            left.append(builtin)
    without = served.effective.lineage[-1]
    holder = without if without.name in own else policy
    if left and without.base is None:
        ignored = ", ".join(dict.fromkeys(FIELDS[builtin].name for builtin in left))
        yield holder.remark(
            "KP325",
            f"without a built-in for them, these are ignored: {ignored}",
            ("spec", "base"),
            hint=f"leave out `base`, so that the policy stands on `{BASE_DEFAULT}`, or list the "
            "built-ins that keep to them",
        )


def _removed_at(served: Served, name: str | None) -> Path | None:
    """Where the policy removes or replaces the predicate `name` of its base."""
    policy = served.effective.policy
    for index, rule in enumerate(policy.model.spec.predicates):
        if name == (rule.name or rule.builtin):
            return _named(policy, ("spec", "predicates", index))
    for index, override in enumerate(served.profile.overrides.predicates):
        if name == override.name and not override.enabled:
            return (*served.path, "overrides", "predicates", index, "name")
    return None


def _named(policy: Policy, path: Path) -> Path:
    at = (*path, "name")
    return at if find(policy.tree, at) is not None else (*path, "builtin")
