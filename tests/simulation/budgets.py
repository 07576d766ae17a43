"""Disruption budgets of the simulated world, and the controller that keeps their status. Their
requests go straight to the server.
"""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Callable
from random import Random
from typing import Any, Final

from kpolicy.testing.objects.resource_types import BY_KIND
from tests.simulation.api_server import USER, SimulatedApi
from tests.simulation.people import MERGE, PODS

BUDGETS: Final = BY_KIND["policy/v1", "PodDisruptionBudget"]
PATH: Final = "/apis/policy/v1/namespaces/default/poddisruptionbudgets"
BUDGETS_MAX: Final = 3
LOOK_S: Final = 0.5


class Budgets:
    def __init__(self, api: SimulatedApi, random: Random) -> None:
        self._api = api
        self._random = random
        self.counts: Counter[str] = Counter()
        self.steps: dict[Callable[[], None], int] = {self.create: 8, self.delete: 1}

    def create(self) -> None:
        name = f"budget-{self._random.randrange(BUDGETS_MAX)}"
        app = self._random.choice(("web", "batch"))
        spec = {
            "minAvailable": self._random.choice((0, 2, 30, 30)),
            "selector": {"matchLabels": {"app": app}},
        }
        kind = {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget"}
        body = {**kind, "metadata": {"name": name, "namespace": "default"}, "spec": spec}
        if self._do("POST", PATH, body) == 201:
            self.counts["create budget"] += 1

    def delete(self) -> None:
        names = [record.name for record in self._api.store.records(BUDGETS)]
        if names:
            self._do("DELETE", f"{PATH}/{self._random.choice(names)}", None)
            self.counts["delete budget"] += 1

    async def run_controller(self) -> None:
        while True:
            await asyncio.sleep(LOOK_S)
            for record in list(self._api.store.records(BUDGETS)):
                self._keep(record.name, record.object)

    def _keep(self, name: str, budget: Any) -> None:
        wanted = budget["spec"]["selector"]["matchLabels"]
        healthy = sum(
            (pod.object.get("status") or {}).get("phase") == "Running"
            and wanted.items() <= (pod.object["metadata"].get("labels") or {}).items()
            for pod in self._api.store.records(PODS)
        )
        allowed = max(0, healthy - budget["spec"]["minAvailable"])
        if (budget.get("status") or {}).get("disruptionsAllowed") != allowed:
            status = {"status": {"disruptionsAllowed": allowed, "currentHealthy": healthy}}
            self._do("PATCH", f"{PATH}/{name}/status", status)

    def _do(self, method: str, path: str, body: object) -> int:
        answer = self._api.do(USER, method, path, body, MERGE if method == "PATCH" else "")
        assert answer.code in (200, 201, 404, 409), json.loads(answer.body)
        return answer.code
