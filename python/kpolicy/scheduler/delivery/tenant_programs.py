"""Compiles the operator's policies and those of all tenants to one program.

Each tenant is compiled alone, and loaded alone into an engine that decides nothing. If its policies
have errors, the last version of them that had none stays in force; other tenants notice nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from kpolicy.diagnostics import Diagnostic, Severity
from kpolicy.engine import Engine
from kpolicy.policy.assembly.assemble import Program
from kpolicy.policy.compile import Compiled
from kpolicy.policy.tenants.composition import TenantPolicy, by_tenant, compile_tenant, compose
from kpolicy.policy.tenants.outcome import IN_FORCE, LAST_GOOD, REFUSED, TenantOutcome
from kpolicy.policy.tenants.tenant_checks import TenantTerms
from kpolicy.policy.yaml.source import Source, Tenant

_Sources: TypeAlias = tuple[Source, ...]
# What the outcome of a tenant depends on: its texts, its namespaces, and the operator's program.
_Basis: TypeAlias = tuple[_Sources, str]


@dataclass(frozen=True, slots=True)
class _Tried:
    """`why`: a sentence if the policy cannot be put in force."""

    policy: TenantPolicy
    why: str


class TenantPrograms:
    """Called in one thread at a time. It remembers the last good sources of each tenant."""

    def __init__(
        self, compile_with: Callable[[Sequence[Source]], Compiled], terms: TenantTerms
    ) -> None:
        self._compile = compile_with
        self._terms = terms
        self._good: dict[str, _Sources] = {}
        self._tried: dict[_Basis, _Tried] = {}

    def remember(self, sources: Sequence[Source]) -> None:
        """Sources that were in force before this process began."""
        for tenant, listed in by_tenant(sources).items():
            self._good.setdefault(tenant.name, listed)

    def __call__(self, sources: Sequence[Source]) -> Compiled:
        compiled = self._compile([source for source in sources if source.tenant is None])
        if compiled.program is None:
            return compiled
        wanted = by_tenant(sources)
        tried: dict[_Basis, _Tried] = {}
        chosen = [
            self._choose(tenant, listed, compiled.program, tried)
            for tenant, listed in wanted.items()
        ]
        self._tried = tried
        composed = compose(compiled.program, [policy for _, policy in chosen if policy is not None])
        outcomes = [
            _left_out(outcome, composed.left_out.get(outcome.tenant.name)) for outcome, _ in chosen
        ]
        self._good = {
            outcome.tenant.name: good
            for outcome in outcomes
            if (good := outcome.in_force or self._good.get(outcome.tenant.name, ()))
        }
        return replace(compiled, program=composed.program, tenants=tuple(outcomes))

    def _choose(
        self, tenant: Tenant, wanted: _Sources, operator: Program, tried: dict[_Basis, _Tried]
    ) -> tuple[TenantOutcome, TenantPolicy | None]:
        """What becomes of the tenant's policies, and the policy to add to the operator's."""
        newest = self._try(tenant, wanted, operator, tried)
        diagnostics = newest.policy.diagnostics
        if not newest.why:
            return TenantOutcome(tenant, IN_FORCE, wanted, diagnostics), newest.policy
        good = tuple(replace(source, tenant=tenant) for source in self._good.get(tenant.name, ()))
        if good:
            kept = self._try(tenant, good, operator, tried)
            if not kept.why:
                outcome = TenantOutcome(tenant, LAST_GOOD, good, diagnostics, newest.why)
                return outcome, kept.policy
        return TenantOutcome(tenant, REFUSED, (), diagnostics, newest.why), None

    def _try(
        self, tenant: Tenant, sources: _Sources, operator: Program, tried: dict[_Basis, _Tried]
    ) -> _Tried:
        basis = (sources, operator.hash)
        known = self._tried.get(basis) or tried.get(basis)
        tried[basis] = known or self._tried_anew(tenant, sources, operator)
        return tried[basis]

    def _tried_anew(self, tenant: Tenant, sources: _Sources, operator: Program) -> _Tried:
        policy = compile_tenant(tenant, sources, operator.scheduler_names, self._terms)
        if policy.program is None:
            return _Tried(policy, _errors(policy.diagnostics))
        alone = compose(operator, [policy])
        if alone.left_out:
            return _Tried(policy, alone.left_out[tenant.name].message)
        refusals = Engine(0, threads=1).load(alone.program.bytes)
        if not refusals:
            return _Tried(policy, "")
        first = refusals[0]
        why = f"the engine refused the program: {first.code} at {first.place}: {first.message}"
        return _Tried(policy, why)


def _errors(diagnostics: Sequence[Diagnostic]) -> str:
    errors = [diagnostic for diagnostic in diagnostics if diagnostic.severity is Severity.ERROR]
    count = f"{len(errors)} error{'' if len(errors) == 1 else 's'}"
    if not errors:
        return count
    first = errors[0]
    where = f"{first.place}: " if first.place is not None else ""
    hint = f" ({first.hint})" if first.hint else ""
    return f"{count}, first: {where}{first.code} {first.message}{hint}"


def _left_out(outcome: TenantOutcome, why: Diagnostic | None) -> TenantOutcome:
    """The outcome of a tenant for whom there was no room beside the others."""
    if why is None:
        return outcome
    diagnostics = (*outcome.diagnostics, why)
    return TenantOutcome(outcome.tenant, REFUSED, (), diagnostics, why.message)
