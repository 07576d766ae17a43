"""Composes the policies of tenants under the operator's: one program, in which each tenant has
profiles of its own that serve the pods of the tenant's namespaces.

Each tenant is compiled alone. What is wrong with one, or costly in one, is in no other's profile.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kpolicy.diagnostics import Diagnostic
from kpolicy.policy.assembly.assemble import Program, sealed
from kpolicy.policy.assembly.queue_periods import WrittenPeriods
from kpolicy.policy.assembly.releases import Followed
from kpolicy.policy.codes.registry import remark
from kpolicy.policy.compile import examine
from kpolicy.policy.limits import (
    PROGRAM_NODES_MAX,
    TENANT_BYTES_MAX,
    TENANT_EXPRESSION_NODES_MAX,
    WEIGHTS_MAX,
)
from kpolicy.policy.models.plugin_sets import PluginSets
from kpolicy.policy.models.scheduling_policy import Extender
from kpolicy.policy.tenants.tenant_checks import TenantTerms, check_tenant
from kpolicy.policy.yaml.source import Source, Tenant


@dataclass(frozen=True, slots=True)
class TenantPolicy:
    """The policies of one tenant, compiled alone. `program` has the tenant's rules and no others;
    None if there are errors."""

    tenant: Tenant
    sources: tuple[Source, ...]
    program: Program | None
    diagnostics: tuple[Diagnostic, ...]


def by_tenant(sources: Iterable[Source]) -> dict[Tenant, tuple[Source, ...]]:
    """The sources of each tenant, in the order of names."""
    grouped: dict[Tenant, list[Source]] = {}
    for source in sources:
        if source.tenant is not None:
            grouped.setdefault(source.tenant, []).append(source)
    return {tenant: tuple(grouped[tenant]) for tenant in sorted(grouped)}


def compile_tenant(
    tenant: Tenant, sources: Sequence[Source], scheduler_names: Sequence[str], terms: TenantTerms
) -> TenantPolicy:
    """`scheduler_names` are those of the operator's profiles."""
    listed = tuple(sources)
    size = sum(len(source.encoded) for source in listed)
    if size > TENANT_BYTES_MAX:
        most = f"{TENANT_BYTES_MAX:,} bytes"
        message = f"the policies of tenant `{tenant.name}` have more than {most}"
        finding = remark("KP136", message, hint="make them smaller")
        return TenantPolicy(tenant, listed, None, (finding,))
    examined = examine(listed, served=scheduler_names, nodes_max=TENANT_EXPRESSION_NODES_MAX)
    compiled = examined.compiled(check_tenant(examined.policies, scheduler_names, terms))
    return TenantPolicy(tenant, listed, compiled.program, compiled.diagnostics)


def room_of_each(operator: Program, tenants: int) -> int:
    """How many IR nodes each of so many tenants may add to the program of the operator. It depends
    on how many tenants there are, and not on what the others write."""
    operators = sum(map(_nodes, json.loads(operator.bytes)["profiles"]))
    return (PROGRAM_NODES_MAX - operators) // max(tenants, 1)


def no_room(nodes: int, room: int) -> Diagnostic | None:
    """The finding about a tenant that adds more than its room."""
    if nodes <= room:
        return None
    message = (
        f"the expressions have {nodes:,} nodes with the operator's, which each profile repeats; of "
        f"all tenants each has room for {room:,}"
    )
    return remark("KP136", message, hint="write fewer or smaller rules")


@dataclass(frozen=True, slots=True)
class Composed:
    """`added`: IR nodes that are not the operator's profiles'. `weights`: the most that the scores
    of a profile weigh."""

    program: Program
    added: int
    weights: int

    @property
    def too_heavy(self) -> Diagnostic | None:
        if self.weights <= WEIGHTS_MAX:
            return None
        message = f"the operator's weights leave no room: {self.weights:,} of {WEIGHTS_MAX:,}"
        return remark("KP136", message)


def compose(operator: Program, policies: Sequence[TenantPolicy]) -> Composed:
    """The program of the operator with the rules of all tenants whose policies compiled."""
    document = json.loads(operator.bytes)
    for field in ("hash", *operator.followed.fields()):
        del document[field]
    extenders: list[tuple[Extender, ...]] = [profile.extenders for profile in operator.profiles]
    plugins = {profile.scheduler_name: profile.plugins for profile in operator.profiles}
    composition = _Composition(document, extenders, operator.followed, plugins, operator.periods)
    for policy in policies:
        if policy.program is not None:
            composition.add(policy.tenant, json.loads(policy.program.bytes))
    return Composed(composition.program(), composition.added, composition.weights)


class _Composition:
    def __init__(
        self,
        document: dict[str, Any],
        extenders: list[tuple[Extender, ...]],
        followed: Followed,
        plugins: Mapping[str, PluginSets | None],
        periods: WrittenPeriods,
    ) -> None:
        self._periods = periods
        self._followed = followed
        self._plugins = plugins
        self._document = document
        self._extenders = extenders
        self._of_operator = list(zip(document["profiles"], extenders, strict=True))
        self._policies_from = len(document["policies"])
        self._limits = document.pop("limits", [{}] * self._policies_from)
        self.added = 0
        self.weights = 0

    def add(self, tenant: Tenant, added: dict[str, Any]) -> None:
        own = {profile["schedulerName"]: profile for profile in added["profiles"]}
        offset = len(self._document["policies"])
        profiles = [
            (self._profile(tenant, profile, own[profile["schedulerName"]], offset), extended)
            for profile, extended in self._of_operator
            if profile["schedulerName"] in own
        ]
        self._document["policies"] += [f"{tenant.name}/{name}" for name in added["policies"]]
        self._limits = [*self._limits, *added.get("limits", [{}] * len(added["policies"]))]
        for profile, extended in profiles:
            self._document["profiles"].append(profile)
            self._extenders.append(extended)
            self.added += _nodes(profile)
            weights = sum(score["weight"] for score in profile["scores"])
            self.weights = max(self.weights, weights)

    def _profile(
        self, tenant: Tenant, profile: dict[str, Any], own: dict[str, Any], offset: int
    ) -> dict[str, Any]:
        """The operator's profile with the tenant's rules after its own."""
        filters = [
            # Nobody is evicted for a rule of a tenant.
            {**_renamed(entry, tenant, offset), "preemptible": False}
            for entry in own["filters"]
        ]
        scores = [_renamed(entry, tenant, offset) for entry in own["scores"]]
        return {
            **profile,
            "filters": [*profile["filters"], *filters],
            "scores": [*profile["scores"], *scores],
            "tenant": {
                "name": tenant.name,
                "namespaces": list(tenant.namespaces),
                "policiesFrom": self._policies_from,
            },
        }

    def program(self) -> Program:
        document = self._document
        if any(self._limits):
            document = {**document, "limits": self._limits}
        return sealed(document, self._extenders, self._followed, self._plugins, self._periods)


def _renamed(entry: dict[str, Any], tenant: Tenant, offset: int) -> dict[str, Any]:
    named = {**entry, "name": f"{tenant.name}/{entry['name']}"}
    if "policy" in entry:
        named["policy"] = entry["policy"] + offset
    return named


def _nodes(profile: Mapping[str, Any]) -> int:
    """The number of IR nodes of all expressions of a profile."""
    rules = (*profile["filters"], *profile["scores"], *profile.get("holds", ()))
    fields = ("expression", "when", "messageExpression")
    irs = (ir for rule in rules for ir in (*map(rule.get, fields), *rule.get("match", ())))
    return sum(len(ir["nodes"]) for ir in irs if ir is not None)
