"""The policies of the simulated world: good texts, bad texts, and the one file from which instances
read them.

Instances look at the file every second, as at mounted files. Compiled policies are remembered,
because the same texts come into force thousands of times.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from random import Random
from typing import Final, Protocol

from kpolicy.clock import Clock
from kpolicy.policy.compile import Compiled, compile_policy
from kpolicy.policy.yaml.source import Source
from kpolicy.scheduler.delivery.policy_delivery import Keeping, PolicyOrigin
from kpolicy.scheduler.limits import POLICY_POLL_S
from tests.invariants.history import STATUS, PolicyOffer, Write
from tests.simulation.machine_time import WorldTime

PROFILE: Final = "kpolicy"


@dataclass(frozen=True, slots=True)
class PolicyText:
    """`forbids`: a label and its value that no node of a placement may have; `shuns`: one that it
    has only while somebody who may be left out does not answer. `cap_milli`: so much cpu a
    namespace may have; a pod beyond it is held."""

    name: str
    text: str
    forbids: tuple[tuple[str, str], ...] = ()
    shuns: tuple[tuple[str, str], ...] = ()
    cap_milli: int = 0


def policy_text(name: str, rules: str = "") -> str:
    return (
        "apiVersion: kpolicy.dev/v1alpha1\n"
        "kind: SchedulingPolicy\n"
        f"metadata: {{name: {name}}}\n"
        "spec:\n"
        f"  profiles: [{{schedulerName: {PROFILE}}}]\n"
        "  base: kube-scheduler-default\n"
        f"{rules}"
    )


def _never_on(key: str, value: str) -> str:
    test = f"!('{key}' in node.labels) || node.labels['{key}'] != '{value}'"
    return f'  predicates:\n    - {{name: never-{value}, expression: "{test}", message: {value}}}\n'


# Evicting pods frees their devices too.
_PREFER: Final = """\
  priorities:
    - name: prefer-ssd
      weight: 5
      expression: "node.labels[?'disk'] == optional.of('ssd') ? 100 : 0"
  preemption: {freesDevices: true}
"""
_ORDER: Final = "  queue: {order: {expression: tenant.share, maxOvertakes: 20}}\n"
# It is asked about every pod, and never true: a pod that waits although it fits is starved.
_ORDER_AND_HOLD: Final = """\
  queue:
    order: {expression: pod.request('cpu') - queue.age, maxOvertakes: 5}
    holds: [{name: never, when: tenant.used('cpu') + tenant.othersUsed('cpu') < 0}]
"""
# About half of what the nodes have, so that pods are held for a while, and let go when others end.
_CAP_MILLI: Final = 6_000
_CAP_REASON: Final = "NamespaceCap"
# A step that must happen now and then: the policy holds a pod.
HELD: Final = "pod held"
_CAP: Final = f"""\
  queue:
    order: {{expression: pod.request('cpu'), maxOvertakes: 20}}
    holds:
      - name: cap
        when: tenant.used('cpu') + pod.request('cpu') > {_CAP_MILLI}
        messageExpression: "'the namespace has ' + string(tenant.used('cpu'))"
        reason: {_CAP_REASON}
"""
GOOD: Final = (
    PolicyText("plain", policy_text("plain")),
    PolicyText(
        "no-spot", policy_text("no-spot", _never_on("tier", "spot") + _ORDER), (("tier", "spot"),)
    ),
    PolicyText("no-hdd", policy_text("no-hdd", _never_on("disk", "hdd")), (("disk", "hdd"),)),
    PolicyText("prefer", policy_text("prefer", _PREFER + _ORDER_AND_HOLD)),
    PolicyText("capped", policy_text("capped", _CAP), cap_milli=_CAP_MILLI),
)
BAD: Final = (
    PolicyText("not-yaml", "spec: [unclosed"),
    PolicyText("empty", ""),
    PolicyText("unknown-field", policy_text("unknown", "  predicate: []\n")),
    PolicyText(
        "bad-expression",
        policy_text(
            "bad", '  predicates:\n    - {name: bad, expression: "node.labels[", message: x}\n'
        ),
    ),
    PolicyText("garbage", "\x00\x07" + "{[" * 40_000),
)


def source_of(policy: PolicyText) -> Source:
    return Source(f"{policy.name}.yaml", policy.text)


@lru_cache(maxsize=64)
def _compiled(sources: tuple[Source, ...]) -> Compiled:
    return compile_policy(sources)


def compiled(sources: Sequence[Source], *, cluster_version: str = "") -> Compiled:
    """The simulated cluster is of the newest release that kpolicy follows."""
    return _compiled(tuple(sources))


def hash_of(source: Source) -> str:
    """The hash of a policy; empty if it does not compile."""
    program = compiled((source,)).program
    return "" if program is None else program.hash


def says_held(write: Write) -> bool:
    """Whether a pod is told that the policy holds it."""
    if write.what != STATUS:
        return False
    conditions = ((write.request or {}).get("status") or {}).get("conditions") or ()
    return any(condition.get("reason") == _CAP_REASON for condition in conditions)


def offer_of(policy: PolicyText | None, compiled_to: str, now_ns: int) -> PolicyOffer:
    if policy is None:
        return PolicyOffer(now_ns, compiled_to)
    return PolicyOffer(now_ns, compiled_to, policy.forbids, policy.shuns, policy.cap_milli)


class Offered(Protocol):
    """The place where instances read their policy, and all policies that were ever there."""

    offers: list[PolicyOffer]
    keeping: Keeping

    def begin(self) -> None: ...
    def put(self, policy: PolicyText) -> None: ...
    def spoil(self, chance: Random) -> None: ...
    def origin(self, clock: Clock) -> PolicyOrigin: ...


class PolicyFile:
    """A folder of policies, which all processes share and which outlives them."""

    def __init__(self, policy: PolicyText, time: WorldTime) -> None:
        self._time = time
        self.policy = policy
        self.keeping = Keeping()
        self.offers: list[PolicyOffer] = []

    def begin(self) -> None:
        self.put(self.policy)

    def put(self, policy: PolicyText) -> None:
        self.policy = policy
        compiled_to = hash_of(source_of(policy))
        self.offers.append(offer_of(policy, compiled_to, self._time.now_ns))

    def spoil(self, chance: Random) -> None:
        self.put(chance.choice(BAD))

    def origin(self, clock: Clock) -> PolicyOrigin:
        return FileSource(self, clock)


class FileSource:
    """A `PolicySource` that polls the file."""

    def __init__(self, file: PolicyFile, clock: Clock) -> None:
        self._file = file
        self._clock = clock
        self._read: PolicyText | None = None

    async def read(self) -> tuple[Source, ...]:
        self._read = self._file.policy
        return (source_of(self._read),)

    async def changed(self) -> None:
        while self._file.policy is self._read:
            await self._clock.sleep(POLICY_POLL_S)
