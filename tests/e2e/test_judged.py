"""The invariants also find violations in recordings of real runs, and not only in made-up
histories.

One run is recorded and found good. Then the recording is changed as if the scheduler had made a
mistake, and the violated invariant must report it.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.cluster.control_plane import ControlPlane
from tests.cluster.users import NORMAL
from tests.e2e.judged import (
    ALWAYS,
    LEADER,
    STARVATION,
    Judged,
    judge,
    offered_from_the_start,
    recording,
)
from tests.e2e.rights import SCENARIO_RULES
from tests.e2e.scheduler_process import SchedulerProcess
from tests.e2e.stage import PROFILE, Stage
from tests.invariants.check import violations
from tests.invariants.history import BINDING, LEASE, SECOND_NS, Change, History, PolicyOffer, Write
from tests.invariants.inputs import without_input

pytestmark = pytest.mark.cluster

POLICY = Path(__file__).parent / "policies" / "scenarios.yaml"
NODES, PODS = 2, 4
JUDGED = ALWAYS | {LEADER, STARVATION}


@pytest.fixture(scope="module")
def history(
    control_plane_binary: object, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[History]:
    """Pods that are bound, one that fits nowhere and one that is gated."""
    log = tmp_path_factory.mktemp("judged") / "log"
    how = Judged(frozenset({PROFILE}), trouble_free=True)
    with ControlPlane() as plane:
        plane.grant(NORMAL, SCENARIO_RULES)
        process = SchedulerProcess(plane.kubeconfig(NORMAL), POLICY, log)
        with process, recording(plane, how) as recorded:
            offered_from_the_start(recorded, process)
            stage = Stage(plane, process, "judged")
            for number in range(NODES):
                stage.node(f"n{number}", cpu=str(PODS))
            for number in range(PODS):
                stage.pod(f"p{number}", cpu="1")
            stage.all_bound(PODS)
            stage.pod("giant", cpu="64")
            stage.parked("giant")
            stage.pod("gated", spec={"schedulingGates": [{"name": "example.com/wait"}]})
            stage.settled()
            yield judge(process, recorded)


Body = dict[str, Any]


def every(history: History, resource: str, change: Callable[[Body], None]) -> History:
    """Whatever was told of this resource, told otherwise."""

    def altered(original: Change) -> Change:
        if original.resource != resource:
            return original
        body = copy.deepcopy(dict(original.object))
        change(body)
        return replace(original, object=body)

    return replace(history, changes=tuple(map(altered, history.changes)))


def bind(history: History) -> Write:
    return next(write for write in history.writes if write.what == BINDING and write.succeeded)


def added(history: History, write: Write) -> History:
    return replace(history, writes=(*history.writes, write))


def rest(history: History, **changed: Any) -> History:
    assert history.at_rest is not None
    return replace(history, at_rest=replace(history.at_rest, **changed))


def bound_twice(history: History) -> History:
    return added(history, bind(history))


def nodes_are_smaller(history: History) -> History:
    return every(history, "nodes", lambda node: node["status"]["allocatable"].update(cpu="1"))


def nodes_are_tainted(history: History) -> History:
    taint = {"key": "a", "value": "b", "effect": "NoSchedule"}
    return every(history, "nodes", lambda node: node["spec"].update(taints=[taint]))


def a_pod_is_in_no_lane(history: History) -> History:
    assert history.at_rest is not None
    assert history.at_rest.queued is not None
    _, *others = history.at_rest.queued
    return rest(history, queued={uid: history.at_rest.queued[uid] for uid in others}, pending=1)


def nobody_says_why(history: History) -> History:
    return every(history, "pods", lambda pod: pod["status"].pop("conditions", None))


def bound_late(history: History) -> History:
    """All that was told from the first bind on came a minute later."""
    first = min(
        change.version
        for change in history.changes
        if change.resource == "pods" and change.object["spec"].get("nodeName")
    )
    late = [
        replace(change, at_ns=change.at_ns + 60 * SECOND_NS) if change.version >= first else change
        for change in history.changes
    ]
    return replace(history, changes=tuple(late))


def the_cache_differs(history: History) -> History:
    return rest(history, compared=("a pod is missed",))


def an_attempt_is_left(history: History) -> History:
    return rest(history, attempts_under_way=1)


def a_reservation_is_left(history: History) -> History:
    return rest(history, assumed=1)


def another_led(history: History) -> History:
    def of_another(write: Write) -> Write:
        if write.what != LEASE:
            return write
        return replace(write, response={"spec": {"holderIdentity": "host_1_another"}})

    return replace(history, writes=tuple(map(of_another, history.writes)))


def the_lease_ran_out(history: History) -> History:
    def late(write: Write) -> Write:
        at_ns = write.received_ns + (60 * SECOND_NS if write.what == BINDING else 0)
        return replace(write, received_ns=at_ns)

    writes = [
        write
        for write in map(late, history.writes)
        if write.what != LEASE or write.received_ns < bind(history).received_ns
    ]
    return replace(history, writes=tuple(writes))


def pods_were_gated(history: History) -> History:
    gates = [{"name": "wait"}]
    return every(history, "pods", lambda pod: pod["spec"].update(schedulingGates=gates))


def nobody_offered_the_policy(history: History) -> History:
    return replace(history, policies=(PolicyOffer(0, "sha256:another"),))


def a_pod_was_deleted(history: History) -> History:
    return added(history, replace(bind(history), verb="delete", what="pods"))


def a_policy_was_patched(history: History) -> History:
    return added(history, replace(bind(history), verb="patch", what="configmaps"))


def written_at_rest(history: History) -> History:
    return added(history, replace(bind(history), received_ns=history.ended_ns, code=409))


def told_again_at_rest(history: History) -> History:
    status = next(our for our in history.ours() if our.what == "pods/status")
    return added(history, replace(status, received_ns=history.ended_ns))


def what_waits_would_fit(history: History) -> History:
    return every(history, "pods", lambda pod: pod["spec"]["containers"][0].pop("resources", None))


PLANTED: list[tuple[str, Callable[[History], History]]] = [
    ("I1", bound_twice),
    ("I2", nodes_are_smaller),
    ("I3", nodes_are_tainted),
    ("I4", a_pod_is_in_no_lane),
    ("I4", nobody_says_why),
    ("I5", bound_late),
    ("I6", the_cache_differs),
    ("I7", an_attempt_is_left),
    ("I7", a_reservation_is_left),
    ("I8", another_led),
    ("I8", the_lease_ran_out),
    ("I10", pods_were_gated),
    ("I11", nobody_offered_the_policy),
    ("I12", a_pod_was_deleted),
    ("I12", a_policy_was_patched),
    ("I13", written_at_rest),
    ("I13", told_again_at_rest),
    ("I13", what_waits_would_fit),
]


def test_a_good_run_violates_nothing(history: History) -> None:
    assert violations(history) == []
    assert without_input(history, JUDGED) == []


@pytest.mark.parametrize(
    ("invariant", "plant"), PLANTED, ids=[planted[1].__name__ for planted in PLANTED]
)
def test_what_is_planted_in_it_is_found(
    history: History, invariant: str, plant: Callable[[History], History]
) -> None:
    assert invariant in {violation.invariant for violation in violations(plant(history))}


def test_something_is_planted_for_each() -> None:
    assert {invariant for invariant, _ in PLANTED} == JUDGED


def test_a_run_in_which_one_had_nothing_to_look_at_is_known(history: History) -> None:
    blind = {
        "I4": rest(history, queued=None),
        "I6": rest(history, compared=None),
        "I7": rest(history, queued=None),
        "I11": replace(history, policies=()),
        "I13": replace(history, calm_since_ns=None),
        LEADER: replace(
            history, writes=tuple(write for write in history.writes if write.what != LEASE)
        ),
        STARVATION: replace(history, trouble_free=False),
        "I1": replace(history, writes=()),
    }
    for name, less in blind.items():
        assert name in without_input(less, JUDGED)
