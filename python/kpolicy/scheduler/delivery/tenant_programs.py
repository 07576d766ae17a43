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
from kpolicy.policy.tenants.composition import (
    TenantPolicy,
    by_tenant,
    compile_tenant,
    compose,
    no_room,
    room_of_each,
)
from kpolicy.policy.tenants.outcome import IN_FORCE, LAST_GOOD, REFUSED, TenantOutcome
from kpolicy.policy.tenants.tenant_checks import TenantTerms
from kpolicy.policy.yaml.source import Source, Tenant

_Sources: TypeAlias = tuple[Source, ...]
# What the outcome of a tenant depends on: its texts, its namespaces, and the operator's program.
_Basis: TypeAlias = tuple[_Sources, str]


@dataclass(frozen=True, slots=True)
class _Tried:
    """`why`: a sentence if the policy cannot be put in force. `added`: the IR nodes that it adds to
    the operator's program."""

    policy: TenantPolicy
    why: str
    added: int = 0

    def within(self, room: int) -> _Tried:
        """The same where the tenant may add so many nodes."""
        finding = None if self.why else no_room(self.added, room)
        if finding is None:
            return self
        diagnostics = (*self.policy.diagnostics, finding)
        return replace(
            self, policy=replace(self.policy, diagnostics=diagnostics), why=_errors(diagnostics)
        )


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
        room = room_of_each(compiled.program, len(wanted))
        chosen = [
            self._choose(tenant, listed, compiled.program, tried, room)
            for tenant, listed in wanted.items()
        ]
        self._tried = tried
        composed = compose(compiled.program, [policy for _, policy in chosen if policy is not None])
        outcomes = [outcome for outcome, _ in chosen]
        self._good = {
            outcome.tenant.name: good
            for outcome in outcomes
            if (good := outcome.in_force or self._good.get(outcome.tenant.name, ()))
        }
        return replace(compiled, program=composed.program, tenants=tuple(outcomes))

    def _choose(
        self,
        tenant: Tenant,
        wanted: _Sources,
        operator: Program,
        tried: dict[_Basis, _Tried],
        room: int,
    ) -> tuple[TenantOutcome, TenantPolicy | None]:
        """What becomes of the tenant's policies, and the policy to add to the operator's."""
        newest = self._try(tenant, wanted, operator, tried).within(room)
        diagnostics = newest.policy.diagnostics
        if not newest.why:
            return TenantOutcome(tenant, IN_FORCE, wanted, diagnostics), newest.policy
        good = tuple(replace(source, tenant=tenant) for source in self._good.get(tenant.name, ()))
        if good:
            kept = self._try(tenant, good, operator, tried).within(room)
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
        if (finding := alone.too_heavy) is not None:
            diagnostics = (*policy.diagnostics, finding)
            return _Tried(replace(policy, diagnostics=diagnostics), _errors(diagnostics))
        refusals = Engine(0, threads=1).load(alone.program.bytes)
        if not refusals:
            return _Tried(policy, "", alone.added)
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
