"""What can be set about a running scheduler, besides its policies.

Owns `Options`. Assumes values that were checked where they came from, except for `checked`.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Final

from kpolicy.cluster.lease_record import LeaseTerms
from kpolicy.cluster.limits import LEASE_DURATION_S, LEASE_RENEW_DEADLINE_S, LEASE_RETRY_S
from kpolicy.cluster.problem import ConnectionProblem
from kpolicy.scheduler import limits
from kpolicy.scheduler.problem import OPTION_INVALID, Problem

PORT_DEFAULT: Final = 10259  # kube-scheduler's
PORT_MAX: Final = 65535
LEASE_NAMESPACE_OUTSIDE: Final = "kube-system"  # where we are no pod with a namespace


@dataclass(frozen=True, slots=True)
class Options:
    """`port` 0: no server. `seed` None: by chance. `once`: stop when no pod can be placed now."""

    bind_address: str = "127.0.0.1"
    port: int = PORT_DEFAULT
    leader_elect: bool = True
    lease_namespace: str = LEASE_NAMESPACE_OUTSIDE
    lease_name: str = "kpolicy"
    lease_duration_s: float = LEASE_DURATION_S
    lease_renew_deadline_s: float = LEASE_RENEW_DEADLINE_S
    lease_retry_s: float = LEASE_RETRY_S
    seed: int | None = None
    once: bool = False
    binds_in_flight_max: int = limits.BINDS_IN_FLIGHT_MAX

    def checked(self) -> Problem | None:
        if not 0 <= self.port <= PORT_MAX:
            return _invalid(f"port {self.port} is not between 0 and {PORT_MAX}")
        if self.binds_in_flight_max < 1:
            return _invalid("binds in flight must be at least 1")
        terms = self.lease_terms()
        return _invalid(terms.message) if isinstance(terms, ConnectionProblem) else None

    def lease_terms(self) -> LeaseTerms | ConnectionProblem:
        return LeaseTerms.checked(
            self.lease_duration_s, self.lease_renew_deadline_s, self.lease_retry_s
        )

    def shown(self) -> dict[str, object]:
        """For /configz; nothing here is secret."""
        return asdict(self)


def _invalid(message: str) -> Problem:
    return Problem(OPTION_INVALID, message, "see kpolicy run --help")
