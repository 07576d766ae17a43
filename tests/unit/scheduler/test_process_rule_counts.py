"""Counts of rules as a scraper sees them: errors, audits and rejections, also after reloads."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import aiohttp

from kpolicy.policy.yaml.source import Source
from kpolicy.scheduler.delivery.policy_delivery import Policies
from kpolicy.scheduler.delivery.sources import FixedSource
from kpolicy.scheduler.options import Options
from kpolicy.scheduler.process import Scheduler
from kpolicy.testing import node, pod
from kpolicy.testing.control_plane import ControlPlane
from tests.unit.scheduler.world import connection, free_port
from tests.unit.telemetry.exposition import parsed

WAIT_S = 30.0
POLICY = """\
apiVersion: kpolicy.dev/v1alpha1
kind: SchedulingPolicy
metadata: {name: rules}
spec:
  base: kube-scheduler-default
  profiles: [{schedulerName: kpolicy}]
  predicates:
    - name: tier-known
      expression: "node.labels['tier'] == 'gold'"
    - name: off-spot
      enforcement: audit
      expression: "!('spot' in node.labels)"
  priorities:
    - name: rank
      weight: 1
      expression: "int(node.labels['rank'])"
"""
# The same rules, and one more word: another program.
RELOADED = POLICY.replace("weight: 1", "weight: 2")
ERRORS, AUDITED = "kpolicy_rule_errors_total", "kpolicy_rule_audited_total"
CLAMPED, COST_EXCEEDED = "kpolicy_score_clamped_total", "kpolicy_rule_cost_exceeded_total"
REJECTIONS = "kpolicy_rule_rejections_total"


def placed(control_plane: ControlPlane) -> int:
    return sum(bool(pod["spec"].get("nodeName")) for pod in control_plane.objects("Pod"))


async def scraped(scheduler: Scheduler, name: str) -> dict[str, float]:
    """One metric, by rule."""
    async with aiohttp.ClientSession() as session:
        text = await (await session.get(scheduler.url + "/metrics")).text()
    samples = parsed(text)[name].samples
    assert {dict(labels)["profile"] for labels in samples} <= {"kpolicy"}
    return {dict(labels)["rule"]: value for labels, value in samples.items()}


@asynccontextmanager
async def running(
    control_plane: ControlPlane,
    policy: str = POLICY,
) -> AsyncIterator[tuple[Scheduler, Callable[[Callable[[], bool]], Awaitable[None]]]]:
    scheduler = Scheduler(
        connection(control_plane.url),
        Policies(FixedSource([Source("policy.yaml", policy)])),
        Options(port=free_port(), leader_elect=False, seed=1),
    )
    task = asyncio.create_task(scheduler.run())

    async def until(true: Callable[[], bool]) -> None:
        async with asyncio.timeout(WAIT_S):
            while not true():
                assert not task.done(), task.result()
                await asyncio.sleep(0.01)

    try:
        await until(lambda: scheduler.ready)
        yield scheduler, until
        scheduler.stop()
        assert await task is None
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def test_errors_and_audited_verdicts_are_counted_and_a_reload_takes_none_back() -> None:
    async with ControlPlane() as control_plane:
        gold = {"tier": "gold", "spot": "yes", "rank": "101"}
        control_plane.add(node("gold", labels=gold), node("unlabelled"))
        control_plane.add(*(pod(f"p{number}") for number in range(3)))
        async with running(control_plane) as (scheduler, until):
            await until(lambda: placed(control_plane) == 3)
            assert await scraped(scheduler, AUDITED) == {"off-spot": 3, "rank": 0, "tier-known": 0}
            errors = await scraped(scheduler, ERRORS)
            assert errors["off-spot"] == 0
            assert errors["tier-known"] >= 1  # an answer is remembered, and counted once
            assert errors["rank"] >= 1
            clamped = await scraped(scheduler, CLAMPED)
            assert clamped.pop("rank") >= 1
            assert set(clamped.values()) == {0}
            cost_exceeded = await scraped(scheduler, COST_EXCEEDED)
            assert cost_exceeded == {"off-spot": 0, "rank": 0, "tier-known": 0}
            # What happened since the last scrape is counted too, however often rules change.
            for number, policy in enumerate((RELOADED, POLICY, RELOADED)):
                control_plane.add(pod(f"q{number}"))
                await until(lambda: placed(control_plane) == 4 + number)  # noqa: B023  awaited here
                assert (await scheduler.reload([Source("policy.yaml", policy)])).in_force
            assert (await scraped(scheduler, AUDITED))["off-spot"] == 6
            after = await scraped(scheduler, ERRORS)
            assert after["tier-known"] >= errors["tier-known"] + 2, (
                "each program must be judged again"
            )
            assert after["rank"] >= errors["rank"] + 2


async def test_a_refused_or_unchanged_policy_counts_nothing_twice() -> None:
    async with ControlPlane() as control_plane:
        control_plane.add(node("gold", labels={"tier": "gold", "spot": "yes"}), pod("p"))
        async with running(control_plane) as (scheduler, until):
            await until(lambda: placed(control_plane) == 1)
            for policy in (POLICY, "kind: Nothing", POLICY):
                await scheduler.reload([Source("policy.yaml", policy)])
            assert (await scraped(scheduler, AUDITED))["off-spot"] == 1


async def test_each_rule_that_rejects_a_pods_nodes_is_counted_with_the_attempt() -> None:
    async with ControlPlane() as control_plane:
        control_plane.add(node("gold", cpu="2", labels={"tier": "gold"}), node("unlabelled"))
        control_plane.add(pod("wide", cpu="3"))
        async with running(control_plane) as (scheduler, until):
            await until(
                lambda: any(
                    event["reason"] == "FailedScheduling"
                    for event in control_plane.objects("Event")
                )
            )
            rejections = await scraped(scheduler, REJECTIONS)
            assert rejections.keys() == {"NodeResourcesFit", "tier-known"}
            assert len(set(rejections.values())) == 1, "in the same attempts"
