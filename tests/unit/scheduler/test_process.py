"""The scheduler from outside: a control plane, pods and nodes, and the results."""

from __future__ import annotations

import asyncio
import json
import time
from dataclasses import replace
from typing import Any

import aiohttp
import pytest
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from kpolicy.policy.yaml.source import Source
from kpolicy.telemetry.traces import Traces
from kpolicy.testing import node, pod
from kpolicy.testing.apiserver.api_calls import (
    Call,
    Drop,
    FaultRule,
    RequestFault,
    ScriptedFaults,
    WatchFault,
)
from kpolicy.testing.control_plane import ControlPlane
from tests.unit.scheduler.world import QUIET, free_port, on_port, policy, running
from tests.unit.telemetry.exposition import parsed


async def test_pods_are_placed_and_told_about() -> None:
    async with ControlPlane() as control_plane:
        control_plane.add(*(node(f"n{number}", pods=10) for number in range(3)))
        control_plane.add(*(pod(f"p{number}") for number in range(20)))
        async with running(control_plane) as world:
            await world.until(lambda: len(world.placed()) == 20)
            control_plane.add(pod("late"))
            await world.until(lambda: "late" in world.placed())
            await world.until(lambda: len(world.events("Scheduled")) == 21)
            await world.until(lambda: not world.engine.assumed)
        annotations = world.pods()["late"]["metadata"]["annotations"]
        assert annotations["kpolicy.dev/policy-hash"] == world.engine.program_hash()
        assert int(annotations["kpolicy.dev/snapshot-rv"]) > 0
        decisions = {
            found["metadata"]["annotations"]["kpolicy.dev/decision-id"]
            for found in world.pods().values()
        }
        assert len(decisions) == 21
        assert world.engine.settled == {0: 21}, "a reservation did not end exactly once"


async def test_events_give_way_to_binds_that_wait() -> None:
    """One at a time, each as long as three rounds of two binds; eight would tell of nearly all."""
    bind, event = RequestFault(delay_s=0.02), RequestFault(delay_s=0.06)
    faults = [_binds(bind), FaultRule(event, verb="create", resource="events", times=None)]
    async with ControlPlane(faults=ScriptedFaults(faults)) as control_plane:
        control_plane.add(node("n", pods=30), *(pod(f"p{number}") for number in range(30)))
        options = replace(QUIET, binds_in_flight_max=2)
        async with running(control_plane, options=options) as world:
            await world.until(lambda: len(world.events("Scheduled")) == 30)
    writes = [call for call in control_plane.audit() if call.verb == "create"]
    last_bind = max(at for at, write in enumerate(writes) if write.subresource == "binding")
    events = [write for write in writes[:last_bind] if write.resource == "events"]
    assert 1 <= len(events) <= 15


async def test_pods_of_other_schedulers_and_gated_pods_are_left_alone() -> None:
    async with ControlPlane() as control_plane:
        control_plane.add(
            node("n"),
            pod("theirs", scheduler_name="default-scheduler"),
            pod("gated", scheduling_gates=["wait"]),
            pod("ours"),
        )
        async with running(control_plane) as world:
            await world.until(lambda: "ours" in world.placed())
            control_plane.add(pod("theirs-too", scheduler_name="default-scheduler"), pod("more"))
            await world.until(lambda: "more" in world.placed())
            statistics = world.scheduler.queue_statistics()
            assert statistics is not None
            assert (statistics.gated, statistics.parked) == (1, 0)
        assert set(world.placed()) == {"ours", "more"}
        touched = {event["involvedObject"]["name"] for event in control_plane.objects("Event")}
        assert touched == {"ours", "more"}


async def test_a_pod_without_a_node_is_reported_why_and_placed_when_one_comes() -> None:
    async with ControlPlane() as control_plane:
        control_plane.add(node("small", pods=1), pod("first", priority=1), pod("second"))
        async with running(control_plane) as world:
            await world.until(lambda: "first" in world.placed())
            await world.until(lambda: _condition(world.pods()["second"]) is not None)
            condition = _condition(world.pods()["second"])
            assert condition is not None
            assert (condition["status"], condition["reason"]) == ("False", "Unschedulable")
            assert condition["message"] == (
                "0/1 nodes are available: 1 Too many pods. preemption: 0/1 nodes are available: "
                "1 No preemption victims found for incoming pod."
            )
            await world.until(lambda: len(world.events("FailedScheduling")) == 1)
            (event,) = world.events("FailedScheduling")
            assert (event["type"], event["message"]) == ("Warning", condition["message"])
            assert event["reportingComponent"] == "kpolicy"
            control_plane.add(node("new"))
            await world.until(lambda: world.placed().get("second") == "new")


async def test_a_broken_rule_is_our_error_and_the_pod_is_tried_again() -> None:
    async with ControlPlane() as control_plane:
        control_plane.add(node("n"))
        async with running(control_plane) as world:
            world.engine.fails_pods = True
            control_plane.add(pod("p"))
            await world.until(lambda: _condition(world.pods()["p"]) is not None)
            condition = _condition(world.pods()["p"])
            assert condition is not None
            assert condition["reason"] == "SchedulerError"
            world.engine.fails_pods = False
            await world.until(lambda: "p" in world.placed())


async def test_a_bind_that_is_refused_ends_its_reservation_and_is_tried_again() -> None:
    fault = RequestFault(status=422)
    async with ControlPlane(faults=ScriptedFaults([_binds(fault, times=1)])) as control_plane:
        control_plane.add(node("n"), pod("p"))
        async with running(control_plane) as world:
            await world.until(lambda: "p" in world.placed())
            await world.until(lambda: world.engine.settled == {1: 1, 0: 1})
            assert not world.engine.assumed
            (event,) = world.events("FailedScheduling")
            assert event["message"].startswith("binding to n failed: 422 ")


async def test_a_lost_answer_is_settled_by_what_the_api_says() -> None:
    lost = RequestFault(drop=Drop.AFTER_COMMIT)
    async with ControlPlane(faults=ScriptedFaults([_binds(lost, times=1)])) as control_plane:
        control_plane.add(node("n"), pod("p"))
        async with running(control_plane) as world:
            await world.until(lambda: world.engine.settled == {0: 1})
            assert world.placed() == {"p": "n"}
            assert _codes(control_plane, "binding") == [201], "the pod was bound twice"
            assert not world.events("FailedScheduling")


async def test_a_pod_deleted_under_way_ends_its_reservation() -> None:
    slow = RequestFault(delay_s=0.3)
    async with ControlPlane(faults=ScriptedFaults([_binds(slow)])) as control_plane:
        control_plane.add(node("n"), pod("p"))
        async with running(control_plane) as world:
            await world.until(lambda: world.engine.assumed > 0)
            await _delete(control_plane, "p")
            await world.until(lambda: world.engine.settled[2] == 1)
            assert not world.engine.assumed
            assert not world.events("FailedScheduling"), "a deleted pod must get no event"
            await world.until(lambda: len(_queued(world)) == 0)


async def test_it_is_ready_only_when_the_first_lists_are_whole() -> None:
    slow = FaultRule(RequestFault(delay_s=0.5), verb="list", resource="pods", skip=1)
    port = free_port()
    async with ControlPlane(faults=ScriptedFaults([slow])) as control_plane:
        control_plane.add(node("n"), pod("p"))
        async with (
            running(control_plane, options=on_port(port), ready=False) as world,
            aiohttp.ClientSession(f"http://127.0.0.1:{port}") as session,
        ):
            await world.until(lambda: world.engine.nodes > 0)
            before = await _get(session, "/readyz?verbose")
            assert before[0] == 500
            assert "[-]sched-handler-sync failed: handlers are not fully" in before[1]
            assert (await _get(session, "/livez"))[0] == 200
            assert world.placed() == {}
            await world.until(lambda: world.scheduler.ready)
            assert await _get(session, "/readyz") == (200, "ok")
            await world.until(lambda: "p" in world.placed())


async def test_it_is_not_ready_but_alive_while_the_api_server_fails() -> None:
    broken = FaultRule(RequestFault(status=500), verb="watch", resource="pods", times=1)
    port = free_port()
    async with (
        ControlPlane(faults=ScriptedFaults([broken])) as control_plane,
        running(control_plane, options=on_port(port)) as world,
        aiohttp.ClientSession(f"http://127.0.0.1:{port}") as session,
    ):
        status, text = await _get(session, "/readyz?verbose")
        assert status == 500
        assert "[-]api-server failed: pods: 500" in text
        assert (await _get(session, "/livez"))[0] == 200
        # Nothing happens in the cluster, so that nothing comes: that it answers is enough.
        for _ in range(500):
            if (await _get(session, "/readyz"))[0] == 200:
                break
            await asyncio.sleep(0.02)
        assert await _get(session, "/readyz") == (200, "ok")
        assert not world.task.done()


async def test_metrics_tell_what_happened_under_kube_schedulers_names() -> None:
    port = free_port()
    async with ControlPlane() as control_plane:
        control_plane.add(node("n", pods=3))
        control_plane.add(*(pod(f"p{number}") for number in range(5)))
        async with running(control_plane, options=on_port(port)) as world:
            await world.until(lambda: len(world.events("FailedScheduling")) == 2)
            await world.until(lambda: len(world.placed()) == 3 and not world.engine.assumed)
            async with aiohttp.ClientSession(f"http://127.0.0.1:{port}") as session:
                families = parsed((await _get(session, "/metrics"))[1])
                configuration = json.loads((await _get(session, "/configz"))[1])
    values = {name: family.samples for name, family in families.items()}
    attempts = values["scheduler_schedule_attempts_total"]
    assert attempts[_key(result="scheduled", profile="kpolicy")] == 3
    assert attempts[_key(result="unschedulable", profile="kpolicy")] >= 2
    assert values["scheduler_pending_pods"][_key(queue="unschedulable")] == 2
    assert values["scheduler_unschedulable_pods"] == {
        _key(plugin="NodeResourcesFit", profile="kpolicy"): 2
    }
    assert values["scheduler_cache_size"][_key(type="nodes")] == 1
    assert families["scheduler_pod_scheduling_sli_duration_seconds"].count(attempts="1") == 3
    assert values["kpolicy_binds_total"][_key(outcome="Bound")] == 3
    assert values["kpolicy_watch_synced"][_key(resource="pods")] == 1
    assert values["kpolicy_policy_last_reload_successful"][_key()] == 1
    assert values["process_resident_memory_bytes"][_key()] > 1e6
    assert len(families) > 40
    assert configuration["policy"]["profiles"] == ["kpolicy"]


async def test_each_attempt_is_a_trace() -> None:
    exporter = InMemorySpanExporter()
    traces = Traces((exporter,))
    async with ControlPlane() as control_plane:
        control_plane.add(node("n", pods=1), pod("first", priority=1), pod("second"))
        async with running(control_plane, traces=traces) as world:
            await world.until(lambda: len(world.events("FailedScheduling")) == 1)
            await world.until(lambda: not world.engine.assumed)
        uid = world.pods()["first"]["metadata"]["uid"]
        decision = world.pods()["first"]["metadata"]["annotations"]["kpolicy.dev/decision-id"]
    assert traces.stop()
    spans = exporter.get_finished_spans()
    roots = {
        str((span.attributes or {})["k8s.pod.name"]): span for span in spans if span.parent is None
    }
    assert set(roots) == {"first", "second"}
    bound = roots["first"]
    assert bound.attributes is not None
    assert bound.attributes["k8s.pod.uid"] == uid
    assert bound.attributes["k8s.node.name"] == "n"
    assert bound.attributes["kpolicy.decision.id"] == decision
    assert bound.attributes["kpolicy.result"] == "scheduled"
    assert roots["second"].attributes is not None
    assert roots["second"].attributes["kpolicy.result"] == "unschedulable"
    children = {
        name: sorted(
            span.name
            for span in spans
            if span.parent and span.parent.span_id == root.context.span_id
        )
        for name, root in roots.items()
        if root.context is not None
    }
    assert children == {
        "first": ["bind", "bind queue", "filter", "reserve", "score"],
        "second": ["filter", "post_filter"],
    }


async def test_reload_serves_new_profiles_and_retries_what_the_old_rules_parked() -> None:
    async with ControlPlane() as control_plane:
        control_plane.add(node("n", pods=1), pod("full", priority=1), pod("parked"))
        control_plane.add(pod("other", scheduler_name="batch"))
        async with running(control_plane) as world:
            await world.until(lambda: len(world.events("FailedScheduling")) == 1)
            both = policy(profiles=("kpolicy", "batch"))
            reloaded = await world.scheduler.reload([both])
            assert (reloaded.result, reloaded.in_force) == ("loaded", True)
            in_force = world.scheduler.policy
            assert in_force is not None
            assert (in_force.generation, in_force.profiles) == (2, frozenset({"kpolicy", "batch"}))
            await world.until(lambda: len(world.events("FailedScheduling")) == 2)
            pod_names = [
                event["involvedObject"]["name"] for event in world.events("FailedScheduling")
            ]
            assert sorted(pod_names) == ["other", "parked"]
            statistics = world.scheduler.queue_statistics()
            assert statistics is not None
            woken = {lane for lane, event in statistics.incoming if event == "PolicyUpdate"}
            assert woken
            again = await world.scheduler.reload([both])
            assert again.result == "unchanged"


async def test_a_policy_that_does_not_compile_or_load_changes_nothing() -> None:
    async with ControlPlane() as control_plane:
        control_plane.add(node("n"), pod("p"))
        async with running(control_plane) as world:
            await world.until(lambda: "p" in world.placed())
            before = world.scheduler.policy
            world.engine.refuses = True
            for source, result in (
                (Source("x.yaml", "{"), "invalid"),
                (policy(profiles=("another",)), "refused"),
            ):
                reloaded = await world.scheduler.reload([source])
                assert (reloaded.result, reloaded.in_force) == (result, False)
                assert reloaded.problem is not None
            assert world.scheduler.policy == before
            control_plane.add(pod("q"))
            await world.until(lambda: "q" in world.placed())


async def test_a_policy_that_needs_what_may_not_be_read_is_refused() -> None:
    forbidden = FaultRule(RequestFault(status=403), resource="services", times=None)
    async with (
        ControlPlane(faults=ScriptedFaults([forbidden])) as control_plane,
        running(control_plane) as world,
    ):
        before = world.engine.program_hash()
        reads_services = policy("PodTopologySpread", profiles=("new",))
        reloaded = await world.scheduler.reload([reads_services])
        assert reloaded.problem is not None
        assert reloaded.problem.code == "KPC205"
        assert world.engine.program_hash() == before
        control_plane.add(node("n"), pod("p"), pod("new", scheduler_name="new"))
        await world.until(lambda: set(world.placed()) == {"p"})


async def test_a_policy_that_reads_more_waits_for_it() -> None:
    async with ControlPlane() as control_plane, running(control_plane) as world:
        control_plane.add(
            {
                "apiVersion": "v1",
                "kind": "Service",
                "metadata": {"name": "s", "namespace": "default"},
                "spec": {"ports": [{"port": 80}]},
            }
        )
        assert (await world.scheduler.reload([policy("PodTopologySpread")])).in_force
        assert json.loads(world.engine.statistics())["objects"] == 1


async def test_once_places_what_can_be_placed_and_ends() -> None:
    async with ControlPlane() as control_plane:
        control_plane.add(node("n", pods=5))
        control_plane.add(*(pod(f"p{number}") for number in range(8)))
        async with running(control_plane, options=replace(QUIET, once=True), ready=False) as world:
            assert await asyncio.wait_for(world.task, 10) is None
        assert len(world.placed()) == 5
        assert len(world.events("Scheduled")) == 5, "the last write must not be lost"
        assert world.engine.settled == {0: 5}


async def test_stop_waits_for_binds_under_way_and_leaves_no_reservation() -> None:
    slow = RequestFault(delay_s=0.5)
    async with ControlPlane(faults=ScriptedFaults([_binds(slow)])) as control_plane:
        control_plane.add(node("n"))
        control_plane.add(*(pod(f"p{number}") for number in range(5)))
        async with running(control_plane) as world:
            await world.until(lambda: world.engine.assumed == 5)
            began = time.monotonic()
            assert await world.stop() is None
            assert 0.3 < time.monotonic() - began < 3
        assert len(world.placed()) == 5
        assert world.engine.settled == {0: 5}


async def test_stop_does_not_wait_for_a_server_that_never_answers() -> None:
    stuck = RequestFault(delay_s=60)
    async with ControlPlane(faults=ScriptedFaults([_binds(stuck)])) as control_plane:
        control_plane.add(node("n"), pod("p"))
        async with running(control_plane) as world:
            await world.until(lambda: world.engine.assumed > 0)
            began = time.monotonic()
            assert await world.stop() is None
            assert time.monotonic() - began < 7


async def test_one_of_two_leads_and_the_other_takes_over_when_it_stops() -> None:
    options = replace(
        QUIET,
        leader_elect=True,
        lease_namespace="default",
        lease_duration_s=600,
        lease_renew_deadline_s=400,
        lease_retry_s=0.2,
    )
    async with ControlPlane() as control_plane:
        control_plane.add(node("n"), pod("p"))
        async with running(control_plane, options=options) as first:
            await first.until(lambda: "p" in first.placed())
            async with running(control_plane, options=options) as second:
                assert second.scheduler.ready, "a replica that does not lead is ready too"
                control_plane.add(pod("q"))
                await first.until(lambda: "q" in first.placed())
                assert second.engine.batches == []
                assert await first.stop() is None
                control_plane.add(pod("r"))
                # The lease was released: to wait it out would take ten minutes.
                await second.until(lambda: "r" in second.placed())


async def test_a_lost_lease_ends_the_run() -> None:
    options = replace(
        QUIET,
        leader_elect=True,
        lease_namespace="default",
        lease_duration_s=2,
        lease_renew_deadline_s=1,
        lease_retry_s=0.2,
    )
    async with ControlPlane() as control_plane:
        control_plane.add(node("n"), pod("p"))
        async with running(control_plane, options=options) as world:
            await world.until(lambda: "p" in world.placed())
            control_plane.faults = ScriptedFaults(
                [FaultRule(RequestFault(status=500), resource="leases", times=None)]
            )
            problem = await asyncio.wait_for(world.task, 10)
    assert problem is not None
    assert (problem.code, problem.exit_status) == ("KPS301", 1)


async def test_a_part_that_dies_ends_the_run_with_its_reason() -> None:
    async with ControlPlane() as control_plane:
        control_plane.add(node("n"), pod("p"))
        async with running(control_plane) as world:
            await world.until(lambda: "p" in world.placed())
            world.engine.dies = True
            control_plane.add(pod("q"))
            problem = await asyncio.wait_for(world.task, 10)
    assert problem is not None
    assert (problem.code, problem.exit_status) == ("KPS302", 1)
    assert "the engine fell over" in problem.message


class Away:
    """Refuses everything until it is back."""

    def __init__(self) -> None:
        self.back = False

    def on_request(self, call: Call) -> RequestFault | None:
        return None if self.back else RequestFault(status=503)

    def on_watch_event(self, call: Call) -> WatchFault:
        return WatchFault.NONE


async def test_an_api_server_that_is_not_there_yet_is_waited_for() -> None:
    away, port = Away(), free_port()
    async with (
        ControlPlane(faults=away) as control_plane,
        running(control_plane, options=on_port(port), ready=False) as world,
    ):
        control_plane.add(node("n"), pod("p"))
        await world.until(lambda: bool(world.scheduler.waits_for))
        async with (
            aiohttp.ClientSession() as session,
            session.get(f"http://127.0.0.1:{port}/readyz") as answer,
        ):
            assert answer.status == 500
            assert "waiting for the API server: 503" in await answer.text()
        away.back = True
        await world.until(lambda: "p" in world.placed())


async def test_what_the_user_can_mend_is_a_problem_with_a_hint(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("kpolicy.scheduler.process.START_PATIENCE_S", 0.1)
    port = free_port()
    listening = await asyncio.start_server(lambda r, w: None, "127.0.0.1", port)
    async with (
        listening,
        ControlPlane() as control_plane,
        running(control_plane, options=on_port(port), ready=False) as world,
    ):
        problem = await asyncio.wait_for(world.task, 10)
        assert problem is not None
        assert (problem.code, problem.exit_status) == ("KPS201", 2)
        assert f"port {port} of 127.0.0.1 is in use" in problem.message
    url = control_plane.url
    async with running(control_plane, ready=False) as world:  # the control plane has stopped
        problem = await asyncio.wait_for(world.task, 10)
        assert problem is not None
        assert (problem.code, problem.exit_status) == ("KPC201", 2)
        assert url in problem.message
    forbidden = ScriptedFaults([FaultRule(RequestFault(status=403), resource="nodes", times=None)])
    async with (
        ControlPlane(faults=forbidden) as control_plane,
        running(control_plane, ready=False) as world,
    ):
        problem = await asyncio.wait_for(world.task, 10)
        assert problem is not None
        assert (problem.code, problem.exit_status) == ("KPC205", 2)
        assert "list nodes" in problem.message


async def test_a_bad_policy_at_the_start_is_a_finding() -> None:
    from kpolicy.scheduler.delivery.sources import FixedSource

    async with ControlPlane() as control_plane:
        source = FixedSource([Source("bad.yaml", "{")])
        async with running(control_plane, source=source, ready=False) as world:
            problem = await asyncio.wait_for(world.task, 10)
            assert problem is not None
            assert (problem.code, problem.exit_status) == ("KPS102", 1)
            assert "bad.yaml:1:2: KP101 this is not YAML" in problem.message
            reloaded = world.scheduler.last_reload
            assert reloaded is not None
            assert len(reloaded.diagnostics) == 1


# --- in words ------------------------------------------------------------------------------------


def _binds(fault: RequestFault, times: int | None = None) -> FaultRule:
    return FaultRule(fault, verb="create", resource="pods", subresource="binding", times=times)


def _codes(control_plane: ControlPlane, subresource: str) -> list[int]:
    return [entry.code for entry in control_plane.audit() if entry.subresource == subresource]


def _condition(found: Any) -> Any:
    conditions = found.get("status", {}).get("conditions", [])
    return next(
        (condition for condition in conditions if condition["type"] == "PodScheduled"), None
    )


def _key(**labels: str) -> frozenset[tuple[str, str]]:
    return frozenset(labels.items())


def _queued(world: Any) -> range:
    statistics = world.scheduler.queue_statistics()
    return range(
        statistics.active + statistics.backoff + statistics.parked + statistics.attempts_under_way
    )


async def _delete(control_plane: ControlPlane, name: str) -> None:
    url = f"{control_plane.url}/api/v1/namespaces/default/pods/{name}?gracePeriodSeconds=0"
    async with aiohttp.ClientSession() as session, session.delete(url) as answer:
        assert answer.status == 200


async def _get(session: aiohttp.ClientSession, path: str) -> tuple[int, str]:
    async with session.get(path) as answer:
        return answer.status, await answer.text()
