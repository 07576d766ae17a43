"""The policies of the simulated world: good ones, bad ones, and where instances read them.

Owns the texts, and the one "file" that all instances read, looked at each second as mounted files
are. Compiling is remembered: the same texts are put in force thousands of times. Must not know the
cluster.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from kpolicy.clock import Clock
from kpolicy.policy.compile import Compiled, compile_policy
from kpolicy.policy.source import Source
from kpolicy.scheduler.limits import POLICY_POLL_S
from tests.invariants.history import PolicyOffer

PROFILE: Final = "kpolicy"


@dataclass(frozen=True, slots=True)
class PolicyText:
    """`forbids`: a label and its value that no node of a placement may have."""

    name: str
    text: str
    forbids: tuple[tuple[str, str], ...] = ()


def _policy(name: str, rules: str = "") -> str:
    return (
        "apiVersion: kpolicy.dev/v1alpha1\n"
        "kind: SchedulingPolicy\n"
        f"metadata: {{name: {name}}}\n"
        "spec:\n"
        f"  profiles: [{{schedulerName: {PROFILE}}}]\n"
        "  extends: kube-scheduler-default\n"
        f"{rules}"
    )


def _never_on(key: str, value: str) -> str:
    test = f"!('{key}' in node.labels) || node.labels['{key}'] != '{value}'"
    return f'  predicates:\n    - {{name: never-{value}, expression: "{test}", message: {value}}}\n'


_PREFER: Final = """\
  priorities:
    - name: prefer-ssd
      weight: 5
      expression: "node.labels[?'disk'] == optional.of('ssd') ? 100 : 0"
"""
GOOD: Final = (
    PolicyText("plain", _policy("plain")),
    PolicyText("no-spot", _policy("no-spot", _never_on("tier", "spot")), (("tier", "spot"),)),
    PolicyText("no-hdd", _policy("no-hdd", _never_on("disk", "hdd")), (("disk", "hdd"),)),
    PolicyText("prefer", _policy("prefer", _PREFER)),
)
BAD: Final = (
    PolicyText("not-yaml", "spec: [unclosed"),
    PolicyText("empty", ""),
    PolicyText("unknown-field", _policy("unknown", "  predicate: []\n")),
    PolicyText(
        "bad-expression",
        _policy(
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


def compiled(sources: Sequence[Source]) -> Compiled:
    return _compiled(tuple(sources))


def hash_of(policy: PolicyText) -> str:
    """Empty for one that does not compile."""
    program = compiled((source_of(policy),)).program
    return "" if program is None else program.hash


class PolicyFile:
    """What a folder of policies is to a process: the same for all, and it outlives them."""

    def __init__(self, policy: PolicyText) -> None:
        self.policy = policy
        self.offers: list[PolicyOffer] = []
        self.put(policy, 0)

    def put(self, policy: PolicyText, at_ns: int) -> None:
        self.policy = policy
        self.offers.append(PolicyOffer(at_ns, hash_of(policy), policy.forbids))

    def source(self, clock: Clock) -> FileSource:
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
