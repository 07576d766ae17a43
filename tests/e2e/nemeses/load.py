"""Creates pods while something breaks, and checks what became of them.

Checks liveness: every pod that fits is bound, and the condition of every other pod says why it is
not. Also proves that the fault happened while work was in progress. The invariants check safety.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

from tests.cluster.audit import binds
from tests.cluster.client import wait_for
from tests.e2e.nemeses.stream import Stream
from tests.e2e.stage import Stage

NODES, CPUS, PODS = 4, 4, 24
BEFORE, DURING, AFTER = (
    5,
    5,
    5,
)  # pods of the stream: bound before the fault, created during it, created after it
RECOVERS_WITHIN_S = 90


def survive(
    stage: Stage, nemesis: Callable[[], None], *, all_met: Callable[[], bool] = lambda: True
) -> None:
    """Pods come all the time: some are bound before the nemesis, some are under way in it, some are
    made after it. `all_met`: everything that the nemesis prepared has happened. One never fits."""
    for number in range(NODES):
        stage.node(f"n{number}", cpu=str(CPUS), pods=1000)
    stage.admin.create_pods(
        PODS // 2,
        namespace=stage.namespace,
        prefix="before",
        cpu="500m",
        scheduler_name=stage.profile,
    )
    stage.pod("giant", cpu="64")
    with Stream(stage) as stream:
        wait_for(
            lambda: len([pod for pod in stage.placements() if pod in stream.made]) >= BEFORE,
            "the first of the stream to be bound",
            timeout_s=RECOVERS_WITHIN_S,
        )
        began = datetime.now(UTC)
        nemesis()
        stream.wait_more(DURING)
        wait_for(all_met, "all that was to break to have broken", timeout_s=RECOVERS_WITHIN_S)
        ended = datetime.now(UTC)
        stream.wait_more(AFTER)
    recover(stage, set(stream.made))
    was_hit(stage, stream, began, ended)


def recover(stage: Stage, wanted: set[str]) -> None:
    """After the fault: new pods are bound too, and then the scheduler is at rest."""
    wait_for(
        lambda: stage.admin.request("GET", "/readyz").status == 200,
        "the API server",
        timeout_s=RECOVERS_WITHIN_S,
    )
    stage.admin.create_pods(
        PODS // 2,
        namespace=stage.namespace,
        prefix="after",
        cpu="500m",
        scheduler_name=stage.profile,
    )
    wanted |= {f"{when}-{i}" for when in ("before", "after") for i in range(PODS // 2)}
    wait_for(
        lambda: wanted <= stage.placements().keys(),
        "every pod that fits to be bound",
        timeout_s=RECOVERS_WITHIN_S,
    )
    stage.parked("giant", "Insufficient cpu", timeout_s=RECOVERS_WITHIN_S)
    stage.settled(timeout_s=RECOVERS_WITHIN_S)


def was_hit(stage: Stage, stream: Stream, began: datetime, ended: datetime) -> None:
    """Checks in the audit log that there were binds before, during and after the fault."""
    answered = {
        bind.pod: bind.answered_at
        for bind in binds(stage.plane.audit_events(), stage.namespace)
        if bind.succeeded
    }
    before = [pod for pod, at in answered.items() if at < began]
    through = [
        pod
        for pod, made in stream.made.items()
        if made < ended and answered.get(pod, began) > began
    ]
    after = [pod for pod, made in stream.made.items() if made >= ended and pod in answered]
    print(f"{len(before)} binds before, {len(through)} through it, {len(after)} of pods after it")
    assert len(before) >= BEFORE
    assert through, "no request was under way"
    assert len(after) >= AFTER
