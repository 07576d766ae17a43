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
from kpolicy.policy.codes.registry import remark
from kpolicy.policy.compile import examine
from kpolicy.policy.limits import (
    PROGRAM_NODES_MAX,
    TENANT_BYTES_MAX,
    TENANT_EXPRESSION_NODES_MAX,
    WEIGHTS_MAX,
)
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


@dataclass(frozen=True, slots=True)
class Composed:
    """`left_out`: tenants for whom there was no room, with the reason."""

    program: Program
    left_out: Mapping[str, Diagnostic]


def compose(operator: Program, policies: Sequence[TenantPolicy]) -> Composed:
    """The program of the operator with the rules of all tenants whose policies compiled."""
    document = json.loads(operator.bytes)
    del document["hash"]
    extenders: list[tuple[Extender, ...]] = [profile.extenders for profile in operator.profiles]
    composition = _Composition(document, extenders)
    left_out = {}
    for policy in policies:
        if policy.program is not None:
            why = composition.add(policy.tenant, json.loads(policy.program.bytes))
            if why:
                left_out[policy.tenant.name] = remark("KP136", why)
    return Composed(composition.program(), left_out)


class _Composition:
    def __init__(self, document: dict[str, Any], extenders: list[tuple[Extender, ...]]) -> None:
        self._document = document
        self._extenders = extenders
        self._of_operator = list(zip(document["profiles"], extenders, strict=True))
        self._policies_from = len(document["policies"])
        self._limits = document.pop("limits", [{}] * self._policies_from)
        self._nodes = sum(map(_nodes, document["profiles"]))

    def add(self, tenant: Tenant, added: dict[str, Any]) -> str:
        """Why there is no room for the tenant; empty if its rules were added."""
        own = {profile["schedulerName"]: profile for profile in added["profiles"]}
        offset = len(self._document["policies"])
        profiles = [
            (self._profile(tenant, profile, own[profile["schedulerName"]], offset), extended)
            for profile, extended in self._of_operator
            if profile["schedulerName"] in own
        ]
        nodes = sum(_nodes(profile) for profile, _ in profiles)
        if self._nodes + nodes > PROGRAM_NODES_MAX:
            return f"the expressions of all tenants have more than {PROGRAM_NODES_MAX:,} nodes"
        for profile, _ in profiles:
            weights = sum(score["weight"] for score in profile["scores"])
            if weights > WEIGHTS_MAX:
                return f"the operator's weights leave no room: {weights:,} of {WEIGHTS_MAX:,}"
        self._nodes += nodes
        self._document["policies"] += [f"{tenant.name}/{name}" for name in added["policies"]]
        self._limits = [*self._limits, *added.get("limits", [{}] * len(added["policies"]))]
        for profile, extended in profiles:
            self._document["profiles"].append(profile)
            self._extenders.append(extended)
        return ""

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
        return sealed(document, self._extenders)


def _renamed(entry: dict[str, Any], tenant: Tenant, offset: int) -> dict[str, Any]:
    named = {**entry, "name": f"{tenant.name}/{entry['name']}"}
    if "policy" in entry:
        named["policy"] = entry["policy"] + offset
    return named


def _nodes(profile: Mapping[str, Any]) -> int:
    """The number of IR nodes of all expressions of a profile."""
    rules = (*profile["filters"], *profile["scores"])
    irs = (
        ir
        for rule in rules
        for ir in (rule.get("expression"), rule.get("messageExpression"), *rule.get("match", ()))
    )
    return sum(len(ir["nodes"]) for ir in irs if ir is not None)
