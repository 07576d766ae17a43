"""Reports on the policies of tenants: events on their ConfigMaps, a list in the status of the
policy, a metric and the log.

Each tenant reads of its own policies in its own namespace, and of nobody else's.
"""

from __future__ import annotations

import logging
from collections import Counter
from typing import Final

from kpolicy.cluster.writes.event_recorder import Occurrence
from kpolicy.policy.tenants.outcome import IN_FORCE, LAST_GOOD, REFUSED, STATES, TenantOutcome
from kpolicy.scheduler import limits
from kpolicy.scheduler.delivery.policy_report import ACTION, CONTROLLER, Notice, Reporting
from kpolicy.scheduler.delivery.tenant_maps import TenantMaps
from kpolicy.scheduler.loop.reload import Reloaded, Reloader
from kpolicy.telemetry.metrics import Gauge

_log = logging.getLogger(__name__)

_STAYS: Final = {
    LAST_GOOD: "; the last good policy stays in force",
    REFUSED: "; nothing of it is in force",
}


class TenantReport:
    """Subscribes to the reloader. A replica that does not lead records no event."""

    def __init__(
        self, reloader: Reloader, maps: TenantMaps, reporting: Reporting, policies: Gauge
    ) -> None:
        self._reloader = reloader
        self._maps = maps
        self._events = reporting.events
        self._leads = reporting.leads
        self._policies = policies
        self._reported: dict[str, TenantOutcome] = {}
        self._is_begun = False
        reloader.subscribe(self._note)

    def begin(self) -> None:
        """This replica leads from now on, and reports what is refused."""
        self._is_begun = True
        for outcome in self._reloader.tenants:
            if outcome.state != IN_FORCE:
                self._record(outcome)

    def _note(self, _: Reloaded) -> None:
        outcomes = self._reloader.tenants
        states = Counter(outcome.state for outcome in outcomes)
        self._policies.replace({(state,): states[state] for state in STATES})
        for outcome in outcomes:
            if self._reported.get(outcome.tenant.name) == outcome:
                continue
            if outcome.state != IN_FORCE:
                fields = {"tenant": outcome.tenant.name, "reason": outcome.why}
                _log.warning("the policy of a tenant is not in force", extra=fields)
            if self._is_begun and self._leads():
                self._record(outcome)
        self._reported = {outcome.tenant.name: outcome for outcome in outcomes}

    def _record(self, outcome: TenantOutcome) -> None:
        news = _news(outcome)
        for regarding in self._maps.references(outcome.tenant):
            self._events.record(
                Occurrence(regarding, news.kind, news.reason, ACTION, news.note, CONTROLLER)
            )


def _news(outcome: TenantOutcome) -> Notice:
    if outcome.state != IN_FORCE:
        return Notice("Warning", "PolicyRejected", outcome.why + _STAYS[outcome.state])
    namespaces = outcome.tenant.namespaces
    shown = ", ".join(namespaces[: limits.DIAGNOSTICS_TOLD_MAX])
    more = len(namespaces) - limits.DIAGNOSTICS_TOLD_MAX
    note = f"in force for the pods of {shown}" + (f" and {more} more" if more > 0 else "")
    return Notice("Normal", "PolicyAccepted", note)
