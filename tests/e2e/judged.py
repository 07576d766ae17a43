"""Records a run on a real control plane, and checks the invariants on the recording.

A run fails if an invariant had nothing to check. I9 is missing here: it compares two runs of the
same seed, which only the simulation can do.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

from tests.cluster.client import wait_for
from tests.cluster.control_plane import ControlPlane
from tests.cluster.users import NORMAL
from tests.e2e.at_rest import at_rest
from tests.e2e.policy_hash import policy_hash
from tests.e2e.scheduler_process import SchedulerProcess
from tests.e2e.stage import WITHIN_S
from tests.invariants.check import violations
from tests.invariants.history import History, Terms, Violation
from tests.invariants.inputs import counts_text, inputs, without_input
from tests.invariants.recording import Recording

LEADER, STARVATION, POLICY = "I8", "I5", "I11"
ALWAYS: Final = frozenset({"I1", "I2", "I3", "I4", "I6", "I7", "I10", POLICY, "I12", "I13"})

# Queues are read from the log, which a test may redirect.
OF_LANES: Final = frozenset({"I4", "I7"})
# What may take a moment until all is at rest; of the others it is asked again only for the
# recording's sake, whose threads may be behind.
MAY_TAKE_TIME: Final = frozenset({"I4", "I6", "I7", "I13"})
LOOKS_MAX: Final = 3

LAST: Final = "last"
NO_SCHEDULE: Final = {"value": "only", "effect": "NoSchedule"}
# How long nothing may be written at the end: of a scenario, of a run with faults, and of tests that
# may take minutes.
REST_S, REST_BROKEN_S, REST_FULL_S = 0.7, 2.0, 60.0
# A queue that forgets a pod finds it again after minutes, but a busy machine takes only seconds.
WAIT_S_MAX: Final = 30.0
# How old what is decided on may be where a test breaks connections or the API server; where it
# silences watches, which is found out after 75 s.
BROKEN_LAG_S, SILENT_LAG_S = 15.0, 90.0


@dataclass(frozen=True, slots=True)
class Judged:
    """How a run is judged. `lag_s`: something is broken on purpose, and snapshots may be as old.
    `trouble_free`: nothing is. `unjudged`: profiles with rules that the reference does not know."""

    profiles: frozenset[str]
    lag_s: float = 0.0
    trouble_free: bool = False
    rest_s: float = REST_S
    evicts: bool = False
    binds_volumes: bool = False
    allocates_devices: bool = False
    kept_in: str = ""
    unjudged: frozenset[str] = frozenset()
    ignored: tuple[str, ...] = ()

    @property
    def terms(self) -> Terms:
        return Terms(
            lag_s=self.lag_s,
            wait_s_max=WAIT_S_MAX,
            converge_s=0.0,
            rest_s=self.rest_s,
            retells=False,
            unjudged=self.unjudged,
            ignored=self.ignored,
            evicts=self.evicts,
            binds_volumes=self.binds_volumes,
            allocates_devices=self.allocates_devices,
            kept_in=self.kept_in,
        )


def recording(plane: ControlPlane, how: Judged) -> Recording:
    return Recording(
        plane,
        users=(NORMAL,),
        profiles=sorted(how.profiles),
        terms=how.terms,
        trouble_free=how.trouble_free,
    )


def offered_from_the_start(recorded: Recording, scheduler: SchedulerProcess) -> None:
    """The policy with which the scheduler was started."""
    assert scheduler.policy is not None
    path = scheduler.policy
    recorded.offer(policy_hash(path.read_text()), was_there=True)


@contextmanager
def judged_run(
    plane: ControlPlane, scheduler: SchedulerProcess, how: Judged
) -> Iterator[Recording]:
    """One test of a module that has no `Stage`; whoever bound nothing in it binds one pod at its
    end, to be judged by that. Tests that end the scheduler itself are not judged."""
    with recording(plane, how) as recorded:
        if scheduler.policy is not None:
            offered_from_the_start(recorded, scheduler)
        yield recorded
        if not scheduler.alive:
            return
        if recorded.history().binds():
            judge(scheduler, recorded)
            return
        profile = next(iter(sorted(how.profiles - how.unjudged) or sorted(how.profiles)))
        with bound_last(plane, scheduler, profile):
            judge(scheduler, recorded)


@contextmanager
def bound_last(plane: ControlPlane, scheduler: SchedulerProcess, profile: str) -> Iterator[None]:
    """Binds a pod on a node of its own, and deletes both afterwards."""
    nodes = scheduler.metric("scheduler_cache_size", type="nodes")
    plane.admin.create_node(LAST, labels={LAST: "yes"}, taints=[{"key": LAST, **NO_SCHEDULE}])
    tolerations = [{"key": LAST, "operator": "Exists"}]
    spec = {"nodeSelector": {LAST: "yes"}, "tolerations": tolerations}
    plane.admin.create_pod(LAST, scheduler_name=profile, spec=spec)
    wait_for(lambda: LAST in plane.admin.placements("default"), "the last pod to be bound")
    yield
    plane.admin.delete_pod(LAST)
    plane.admin.delete(f"/api/v1/nodes/{LAST}")
    wait_for(
        lambda: scheduler.metric("scheduler_cache_size", type="nodes") == nodes,
        "the scheduler to see that the last node is gone",
    )


def judge(scheduler: SchedulerProcess, recorded: Recording) -> History:
    """No invariant is broken at the end, and each that should have had something to look at had it.

    What was once unsafe stays so; only what waits (I4) and moves (I13) may take a moment until all
    is at rest."""
    terms = recorded.terms
    found: list[Violation] = []
    histories: list[History] = []
    unsafe: list[bool] = []

    def held() -> bool:
        recorded.calm()
        began = time.monotonic()
        rest = at_rest(scheduler)
        time.sleep(max(0.0, began + terms.rest_s - time.monotonic()))
        history = recorded.history(at_rest=rest)
        histories[:] = [history]
        found[:] = judged_by(violations(history), leads=scheduler.elects)
        unsafe.append(any(entry.invariant not in MAY_TAKE_TIME for entry in found))
        return not found or unsafe[-LOOKS_MAX:] == [True] * LOOKS_MAX

    try:
        wait_for(held, "the invariants to hold", timeout_s=WITHIN_S + 2 * terms.rest_s, every_s=0.3)
    finally:
        for entry in found:
            print(entry)
    assert not found, "; ".join(map(str, found))
    (history,) = histories
    print(f"invariants looked at {counts_text(inputs(history))}")
    blind = without_input(history, expected(history, scheduler))
    assert not blind, f"these invariants had nothing to check: {blind}"
    return history


def judged_by(found: Sequence[Violation], *, leads: bool) -> list[Violation]:
    """Without leader election every scheduler is a leader, whoever else holds a lease."""
    return [entry for entry in found if leads or entry.invariant != LEADER]


def expected(history: History, scheduler: SchedulerProcess) -> Iterable[str]:
    names = ALWAYS | ({LEADER} if scheduler.elects else set())
    names |= {STARVATION} if history.trouble_free else set()
    return sorted(names if scheduler.has_log else names - OF_LANES)
