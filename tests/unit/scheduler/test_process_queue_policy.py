"""A running scheduler whose policy orders the queue and holds pods."""

from __future__ import annotations

from typing import Any

import aiohttp
import pytest

from kpolicy.clock import SystemClock
from kpolicy.cluster.api import ApiClient, Response
from kpolicy.policy.yaml.source import Source
from kpolicy.testing import node, pod
from kpolicy.testing.control_plane import ControlPlane
from tests.unit.scheduler.test_process_rule_counts import running
from tests.unit.scheduler.world import connection

POLICY = """\
apiVersion: kpolicy.dev/v1alpha1
kind: SchedulingPolicy
metadata: {name: queued}
spec:
  profiles: [{schedulerName: kpolicy}]
  queue:
    order: {expression: tenant.share}
    holds:
      - name: cap
        when: tenant.used('cpu') + pod.request('cpu') > 2000
        messageExpression: "'tenant ' + tenant.name + ' has ' + string(tenant.used('cpu'))"
        reason: TenantCap
"""
FREE = POLICY[: POLICY.index("  queue:")]
ELSEWHERE = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "elsewhere"}}


def scheduled(control_plane: ControlPlane) -> set[str]:
    pods = control_plane.objects("Pod")
    return {item["metadata"]["name"] for item in pods if item["spec"].get("nodeName")}


def condition(control_plane: ControlPlane, name: str) -> dict[str, Any]:
    [found] = [each for each in control_plane.objects("Pod") if each["metadata"]["name"] == name]
    conditions = found.get("status", {}).get("conditions", [])
    return next((dict(each) for each in conditions if each["type"] == "PodScheduled"), {})


async def delete(control_plane: ControlPlane, name: str) -> None:
    async with ApiClient(connection(control_plane.url), SystemClock()) as api:
        path = f"/api/v1/namespaces/default/pods/{name}"
        answer = await api.request("DELETE", path, {"gracePeriodSeconds": "0"})
        assert isinstance(answer, Response)


async def test_a_held_pod_says_why_and_is_placed_when_its_tenant_has_room() -> None:
    async with ControlPlane() as control_plane:
        control_plane.add(node("n", cpu="16"))
        async with running(control_plane, FREE) as (scheduler, until):
            control_plane.add(*(pod(f"p{number}", cpu="1") for number in range(4)))
            control_plane.add(ELSEWHERE, pod("other", "elsewhere", cpu="2"))
            await until(lambda: len(scheduled(control_plane)) == 5)
            assert (await scheduler.reload([Source("policy.yaml", POLICY)])).in_force
            control_plane.add(pod("q", cpu="1"))
            await until(lambda: condition(control_plane, "q").get("reason") == "TenantCap")
            assert condition(control_plane, "q")["message"] == "tenant default has 4000"
            for name in ("p0", "p1"):
                await delete(control_plane, name)
            assert "q" not in scheduled(control_plane)
            await delete(control_plane, "p2")
            await until(lambda: "q" in scheduled(control_plane))
            # What does not compile changes nothing; what holds nobody lets all go.
            control_plane.add(pod("r", cpu="1"))
            await until(lambda: condition(control_plane, "r").get("reason") == "TenantCap")
            for bad in ("node.name", "tenant.nme", "0.0 / 0.0"):
                text = POLICY.replace("expression: tenant.share", f"expression: {bad}")
                refused = await scheduler.reload([Source("policy.yaml", text)])
                assert refused.result == "invalid"
                assert refused.problem is not None
            assert "r" not in scheduled(control_plane)
            assert (await scheduler.reload([Source("policy.yaml", FREE)])).in_force
            await until(lambda: "r" in scheduled(control_plane))


async def test_two_pods_of_one_batch_do_not_exceed_a_quota() -> None:
    async with ControlPlane() as control_plane:
        control_plane.add(node("n", cpu="64"))
        async with running(control_plane, POLICY) as (_, until):
            control_plane.add(*(pod(f"p{number:02}", cpu="1") for number in range(20)))
            await until(
                lambda: (
                    all(
                        condition(control_plane, f"p{number:02}")
                        for number in range(20)
                        if f"p{number:02}" not in scheduled(control_plane)
                    )
                    and len(scheduled(control_plane)) == 2
                )
            )


async def test_an_order_that_fails_is_logged_once_for_pods_that_are_alike(
    caplog: pytest.LogCaptureFixture,
) -> None:
    policy = POLICY.replace("tenant.share", "\"int(pod.labels['rank'])\"")
    async with ControlPlane() as control_plane:
        control_plane.add(node("n", cpu="16"))
        async with running(control_plane, policy) as (scheduler, until):
            control_plane.add(*(pod(f"p{number}", cpu="100m") for number in range(2)))
            control_plane.add(pod("ranked", cpu="100m", labels={"rank": "x"}))
            await until(lambda: len(scheduled(control_plane)) == 3)
            async with aiohttp.ClientSession() as session:
                page = await (await session.get(scheduler.url + "/debug/queue")).json()
    logged = [record for record in caplog.records if getattr(record, "rule", "") == "queue.order"]
    assert sorted(record.__dict__["code"] for record in logged) == ["KR102", "KR106"]
    shown = {(failed["rule"], failed["code"], failed["pod"]) for failed in page["failedRules"]}
    assert ("queue.order", "KR106", "default/ranked") in shown
    assert len(shown) == 2
