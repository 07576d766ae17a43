"""What became of a tenant's policies: in force as written, an earlier version of them, or none."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from kpolicy.diagnostics import Diagnostic
from kpolicy.policy.yaml.source import Source, Tenant

# States of a tenant's policies: words of metrics, of the status and of /configz.
IN_FORCE = "in_force"
LAST_GOOD = "last_good"
REFUSED = "refused"
STATES = (IN_FORCE, LAST_GOOD, REFUSED)


@dataclass(frozen=True, slots=True)
class TenantOutcome:
    """`in_force` are the sources whose rules are in the program; `diagnostics` are about those that
    the tenant has written last. `why` says in a sentence why these are not in force."""

    tenant: Tenant
    state: str
    in_force: tuple[Source, ...]
    diagnostics: tuple[Diagnostic, ...]
    why: str = ""


def sources_in_force(
    sources: Iterable[Source], tenants: Iterable[TenantOutcome]
) -> tuple[Source, ...]:
    """The operator's sources, and those of tenants whose rules are in the program."""
    of_operator = [source for source in sources if source.tenant is None]
    return (*of_operator, *(source for outcome in tenants for source in outcome.in_force))


def summary(outcomes: Sequence[TenantOutcome], most: int) -> dict[str, Any]:
    """How many tenants there are in each state, and the first of them, those whose newest policies
    are not in force before the others."""
    states = Counter(outcome.state for outcome in outcomes)
    ordered = sorted(outcomes, key=lambda outcome: (outcome.state == IN_FORCE, outcome.tenant.name))
    return {
        "counts": {state: states[state] for state in STATES},
        "first": [
            {
                "name": outcome.tenant.name,
                "state": outcome.state,
                **({"reason": outcome.why} if outcome.why else {}),
            }
            for outcome in ordered[:most]
        ],
    }
