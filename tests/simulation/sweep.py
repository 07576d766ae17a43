"""Runs many seeds in several processes and adds up their results. It demands that every kind of
fault happened at least once.
"""

from __future__ import annotations

import hashlib
import traceback
from collections import Counter
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from typing import Final

from tests.invariants.check import violations
from tests.invariants.determinism import history_lines
from tests.simulation.course import run
from tests.simulation.devices import DEVICE_FAILS
from tests.simulation.extender import Fault
from tests.simulation.plugged import Whim
from tests.simulation.policies import HELD
from tests.simulation.remains import Remains
from tests.simulation.storage import ELSEWHERE, MAKES, REFUSES
from tests.simulation.trouble import Kind
from tests.simulation.world import Plan, Run

# One run in so many has no faults; only in these can I5 check how long pods wait.
CALM_EVERY: Final = 10
# With so many seeds or more, every kind of fault must have happened.
SEEDS_FOR_ALL_KINDS: Final = 200
NEMESES: Final = frozenset(
    {
        "killed",
        "stopped",
        "frozen",
        "clock stepped",
        "partitioned",
        "refused",
        "reset",
        "torn",
        "slow",
        "lagging",
        "outage",
        "compacted",
        "burst of 429",
        "burst of 5xx",
        "policy changed",
        "bad policy",
        "policy flapping",
        "restarted with a bad policy",
    }
)
# Steps of others, and results that must happen now and then.
STEPS: Final = frozenset(
    {HELD, MAKES, REFUSES, ELSEWHERE, "create claimed pod", "delete claim", "create budget"}
    | {"create device pod", "delete device claim", "replace slice", DEVICE_FAILS}
)


@dataclass(frozen=True, slots=True)
class Outcome:
    """The summary of a run. It is small, because it comes from another process."""

    seed: int
    digest: str
    violations: tuple[str, ...]
    faults: Counter[str]
    steps: Counter[str]
    ends: Counter[str]
    binds: int
    virtual_s: float
    requests: int


@dataclass(slots=True)
class Total:
    seeds: int = 0
    binds: int = 0
    requests: int = 0
    virtual_s: float = 0.0
    faults: Counter[str] = field(default_factory=Counter)
    steps: Counter[str] = field(default_factory=Counter)
    ends: Counter[str] = field(default_factory=Counter)
    failed: list[Outcome] = field(default_factory=list)

    def add(self, outcome: Outcome) -> None:
        self.seeds += 1
        self.binds += outcome.binds
        self.requests += outcome.requests
        self.virtual_s += outcome.virtual_s
        self.faults += outcome.faults
        self.steps += outcome.steps
        self.ends += outcome.ends
        if outcome.violations:
            self.failed.append(outcome)

    def missing(self) -> list[str]:
        """Kinds of faults that never happened, but should have with so many seeds."""
        if self.seeds < SEEDS_FOR_ALL_KINDS:
            return []
        wanted = {kind.value for kind in Kind if kind is not Kind.NONE} | NEMESES
        wanted |= {fault.value for fault in Fault if fault is not Fault.NONE}
        wanted |= {remains.value for remains in Remains}
        wanted |= {whim.value for whim in Whim if whim is not Whim.NONE}
        return sorted((wanted - self.faults.keys()) | (STEPS - self.steps.keys()))


def plan_of(seed: int) -> Plan:
    return Plan(seed, calm=seed % CALM_EVERY == 0)


def simulated(plan: Plan) -> Outcome:
    """One run and its verdict. An exception is a violation too."""
    try:
        done = run(plan)
        found = [str(violation) for violation in violations(done.history)]
    except Exception:
        return _outcome(plan, None, [traceback.format_exc()])
    return _outcome(plan, done, found + [f"nobody caught: {error}" for error in done.errors])


def sweep(plans: Iterable[Plan], jobs: int) -> Iterator[Outcome]:
    """The outcomes in the order of the plans, as soon as they are known."""
    with ProcessPoolExecutor(jobs) as processes:
        yield from processes.map(simulated, plans)


def _outcome(plan: Plan, done: Run | None, found: list[str]) -> Outcome:
    if done is None:
        none: Counter[str] = Counter()
        return Outcome(plan.seed, "", tuple(found), none, none, none, 0, 0.0, 0)
    return Outcome(
        seed=plan.seed,
        digest=hashlib.sha256(history_lines(done.history)).hexdigest(),
        violations=tuple(found),
        faults=done.faults,
        steps=done.steps,
        ends=done.ends,
        binds=sum(bind.succeeded for bind in done.history.binds()),
        virtual_s=done.virtual_s,
        requests=done.requests,
    )
