"""The ConfigMap with the policy (`--policy-configmap`) in the simulated API server, and the
mistakes that people make with it. The scheduler writes its status and the last good policy beside
it.
"""

from __future__ import annotations

from random import Random
from typing import Final

from kpolicy.clock import Clock
from kpolicy.policy.yaml.source import Source
from kpolicy.scheduler.delivery.policy_delivery import Keeping, PolicyOrigin
from kpolicy.scheduler.options import ConfigMapName
from kpolicy.testing.objects.resource_types import BY_KIND
from tests.invariants.history import PolicyOffer
from tests.invariants.last_good import kept_in
from tests.simulation.api_server import USER, SimulatedApi
from tests.simulation.machine_time import WorldTime
from tests.simulation.policies import BAD, PolicyText, hash_of, offer_of

NAME: Final = ConfigMapName("kube-system", "policy")
STATUS: Final = NAME.beside("-status")
CONFIG_MAPS: Final = BY_KIND["v1", "ConfigMap"]
KEY: Final = "policy.yaml"
_NOTE: Final = {"README": "change it, and it is in force"}


def kept_hash(api: SimulatedApi) -> str:
    """The hash of the last good policy that the instances have kept; empty if there is none."""
    record = api.store.read(CONFIG_MAPS, STATUS.namespace, STATUS.name)
    return kept_in(record.object) if record is not None else ""


class PolicyMap:
    def __init__(self, policy: PolicyText, api: SimulatedApi, time: WorldTime) -> None:
        self._first = policy
        self._api = api
        self._time = time
        self.keeping = Keeping(status=STATUS)
        self.offers: list[PolicyOffer] = []

    def begin(self) -> None:
        self.put(self._first)

    def put(self, policy: PolicyText) -> None:
        self._write({**_NOTE, KEY: policy.text})
        compiled_to = hash_of(Source(f"configmap/{NAME.namespace}/{NAME.name}/{KEY}", policy.text))
        self._offer(compiled_to, policy)

    def spoil(self, chance: Random) -> None:
        """Breaks the text, deletes or empties the ConfigMap, or removes the policy from it."""
        match chance.choice(("text", "text", "deleted", "emptied", "no policy")):
            case "text":
                self.put(chance.choice(BAD))
                return
            case "deleted":
                answer = self._api.do(USER, "DELETE", NAME.path)
                assert answer.code in (200, 404)
            case "emptied":
                self._write({})
            case "no policy":
                self._write(_NOTE)
        self._offer("")

    def origin(self, clock: Clock) -> PolicyOrigin:
        del clock
        return NAME

    def _write(self, data: dict[str, str]) -> None:
        metadata = {"name": NAME.name, "namespace": NAME.namespace}
        body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}
        answer = self._api.do(USER, "PUT", NAME.path, body)
        if answer.code == 404:
            answer = self._api.do(USER, "POST", NAME.collection, body)
        assert answer.code in (200, 201)

    def _offer(self, compiled_to: str, policy: PolicyText | None = None) -> None:
        self.offers.append(offer_of(policy, compiled_to, self._time.now_ns))
