"""The version of the cluster's API server, which says how to decide where nothing else does.

A policy is compiled for a release; if the cluster is upgraded, it is compiled again.
"""

from __future__ import annotations

import logging
from collections.abc import Callable

from kpolicy.clock import Clock, Pulse
from kpolicy.cluster.api import ApiClient
from kpolicy.cluster.probe import Patience, ServerVersion, probe
from kpolicy.scheduler import limits
from kpolicy.scheduler.problem_codes import Problem, of_connection

_log = logging.getLogger(__name__)


class ClusterVersion:
    """`known` is empty until `ask` was answered."""

    def __init__(self) -> None:
        self.known = ""

    async def ask(self, client: ApiClient, patience: Patience) -> Problem | None:
        """Asks while the API server starts, until it answers."""
        answer = await probe(client, patience=patience)
        if not isinstance(answer, ServerVersion):
            return of_connection(answer)
        self.known = answer.git_version
        return None

    async def follow(
        self, client: ApiClient, clock: Clock, changed: Callable[[], None], pulse: Pulse
    ) -> None:
        """Asks now and then, and calls `changed` after an upgrade. While the API server does not
        answer, what is known stays."""
        while True:
            pulse.rest(lambda: False)
            await clock.sleep(limits.CLUSTER_VERSION_S)
            pulse.beat()
            answer = await probe(client)
            if isinstance(answer, ServerVersion) and answer.git_version != self.known:
                _log.info("the API server is %s now; it was %s", answer.git_version, self.known)
                self.known = answer.git_version
                changed()
