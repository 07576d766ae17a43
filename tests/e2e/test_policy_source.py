"""Policies from a ConfigMap of a real API server: watched, refused, kept, reported, and never
written.

Nemeses of the policy (N): deleted, emptied, replaced with garbage of 1 MiB, flapping at 10 Hz. I11:
a pod is bound by a policy that was valid, whatever the ConfigMap contains.
"""

from __future__ import annotations

import json
import subprocess
import threading
import time
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from tests.cluster.client import Client, wait_for
from tests.cluster.control_plane import ControlPlane
from tests.cluster.users import NORMAL
from tests.e2e.rights import CONFIG_MAP_WRITES, RULES, WRITES_ALLOWED, of_config_maps
from tests.e2e.scheduler_process import KPOLICY, SchedulerProcess

pytestmark = pytest.mark.cluster

SPACE = "policies"
NAME, STATUS, PARAMS = "policy", "policy-status", "numbers"
HOME = f"/api/v1/namespaces/{SPACE}/configmaps"
EVENTS = f"/apis/events.k8s.io/v1/namespaces/{SPACE}/events"
GARBAGE = "{" * 600_000 + "\u00e9" * 100_000  # about 0.8 MiB of text, all that a ConfigMap takes
_pods = count(1)


def policy(disk: str, extra: str = "") -> str:
    return f"""\
apiVersion: kpolicy.dev/v1alpha1
kind: SchedulingPolicy
metadata: {{name: disks}}
spec:
  profiles: [{{schedulerName: kpolicy}}]
  predicates:
    - {{name: disk, expression: "node.labels['disk'] == '{disk}'", onError: reject}}
{extra}"""


def config_map(text: str, key: str = "policy.yaml", name: str = NAME) -> dict[str, Any]:
    return {"metadata": {"name": name, "namespace": SPACE}, "data": {key: text}}


@pytest.fixture(scope="module")
def cluster(control_plane_binary: object) -> Iterator[ControlPlane]:
    with ControlPlane() as control_plane:
        control_plane.admin.create_namespace(SPACE)
        control_plane.grant(NORMAL, RULES)
        control_plane.grant(NORMAL, of_config_maps([NAME, PARAMS], [STATUS]), namespace=SPACE)
        control_plane.admin.create_nodes(2, prefix="ssd", labels={"disk": "ssd"})
        control_plane.admin.create_nodes(2, prefix="hdd", labels={"disk": "hdd"})
        control_plane.admin.create(HOME, config_map(policy("ssd")))
        yield control_plane


@pytest.fixture(scope="module")
def scheduler(
    cluster: ControlPlane, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[SchedulerProcess]:
    log = tmp_path_factory.mktemp("scheduler") / "kpolicy.log"
    with running(cluster, log) as process:
        yield process


@pytest.fixture(autouse=True)
def sound_again(cluster: ControlPlane, scheduler: SchedulerProcess) -> None:
    """Puts the policy for ssd in force before every test."""
    write(cluster.admin, policy("ssd"))
    wait_for(lambda: place(cluster.admin).startswith("ssd"), "the policy for ssd to be in force")


def running(cluster: ControlPlane, log: Path, *flags: str) -> SchedulerProcess:
    named = f"--policy-configmap={SPACE}/{NAME}"
    served = "--scheduler-names=kpolicy,shadowed,default-scheduler"
    flags = ("--log-format=json", "--no-leader-elect", named, served, *flags)
    return SchedulerProcess(cluster.kubeconfig(NORMAL), None, log, flags)


def write(admin: Client, text: str, key: str = "policy.yaml") -> None:
    body = config_map(text, key)
    if admin.exists(f"{HOME}/{NAME}"):
        admin.replace(f"{HOME}/{NAME}", body)
    else:
        admin.create(HOME, body)


def configuration(scheduler: SchedulerProcess) -> dict[str, Any]:
    return dict(json.loads(scheduler.get("/configz")))


def in_force(scheduler: SchedulerProcess) -> str:
    return str(configuration(scheduler)["policy"]["hash"])


def until_in_force(scheduler: SchedulerProcess, not_hash: str) -> str:
    def changed() -> str:
        now = in_force(scheduler)
        return now if now != not_hash else ""

    return wait_for(changed, f"another policy than {not_hash} to be in force; {scheduler.tail()}")


def until_refused(scheduler: SchedulerProcess, result: str) -> dict[str, Any]:
    def refused() -> dict[str, Any] | None:
        shown = configuration(scheduler)
        return shown if shown["lastReload"]["result"] == result else None

    return wait_for(refused, f"a reload to be {result}; {scheduler.tail()}")


def place(admin: Client) -> str:
    """Creates a pod; returns the node on which it is placed."""
    name = f"probe-{next(_pods)}"
    admin.create_pod(name, scheduler_name="kpolicy")
    wait_for(lambda: name in admin.placements("default"), f"{name} to be bound")
    return admin.placements("default")[name]


def events_of(admin: Client, reason: str) -> list[dict[str, Any]]:
    return [event for event in admin.list(EVENTS) if event["reason"] == reason]


# --- a change ------------------------------------------------------------------------------------


def test_a_change_is_in_force_within_a_second(
    cluster: ControlPlane, scheduler: SchedulerProcess
) -> None:
    before = in_force(scheduler)
    resource_versions = []
    for disk in ("hdd", "ssd", "hdd"):
        began = time.monotonic()
        write(cluster.admin, policy(disk))
        before = until_in_force(scheduler, before)
        resource_versions.append(time.monotonic() - began)
        assert place(cluster.admin).startswith(disk)
    # A generous limit for a busy machine; the promise is a second, and the figure is printed.
    print(f"in force after {', '.join(f'{version:.2f} s' for version in resource_versions)}")
    assert min(resource_versions) < 5


def test_a_pod_that_the_old_rules_parked_is_placed_by_the_new(
    cluster: ControlPlane, scheduler: SchedulerProcess
) -> None:
    admin = cluster.admin
    before = in_force(scheduler)
    write(admin, policy("nowhere"))
    before = until_in_force(scheduler, before)
    admin.create_pod("parked", scheduler_name="kpolicy")
    wait_for(
        lambda: scheduler.metric("scheduler_pending_pods", queue="unschedulable") == 1,
        "the pod to be parked",
    )
    write(admin, policy("hdd"))
    wait_for(lambda: admin.placements("default").get("parked", ""), "the parked pod to be bound")
    assert admin.placements("default")["parked"].startswith("hdd")


def test_a_config_map_of_params_is_watched_too(
    cluster: ControlPlane, scheduler: SchedulerProcess
) -> None:
    admin = cluster.admin
    extra = f"""\
  params: {{disk: {{type: string, default: ssd}}}}
  paramsFrom: [{{configMap: {{namespace: {SPACE}, name: {PARAMS}, optional: true}}}}]
"""
    text = policy("ssd", extra).replace("== 'ssd'", "== params.disk")
    before = in_force(scheduler)
    write(admin, text)
    watched = {f"{SPACE}/{PARAMS}": "", f"{SPACE}/{NAME}": ""}
    wait_for(lambda: configuration(scheduler)["watches"] == watched, "the params to be watched")
    assert in_force(scheduler) == before, "with its default, the policy is the same as before"
    admin.create(HOME, config_map("hdd", "disk", PARAMS))
    before = until_in_force(scheduler, before)
    assert place(admin).startswith("hdd")
    admin.replace(f"{HOME}/{PARAMS}", config_map("ssd", "disk", PARAMS))
    until_in_force(scheduler, before)
    assert place(admin).startswith("ssd")
    admin.delete(f"{HOME}/{PARAMS}")


def test_a_legacy_policy_is_taken_from_its_key(
    cluster: ControlPlane, scheduler: SchedulerProcess
) -> None:
    before = in_force(scheduler)
    legacy = {
        "kind": "Policy",
        "apiVersion": "v1",
        "predicates": [{"name": "PodFitsResources"}],
        "priorities": [],
    }
    body = config_map(json.dumps(legacy), "policy.cfg")
    cluster.admin.replace(f"{HOME}/{NAME}", body)
    until_in_force(scheduler, before)
    profiles = configuration(scheduler)["policy"]["profiles"]
    assert profiles == ["default-scheduler"]


# --- what is wrong changes nothing ---------------------------------------------------------------


@pytest.mark.parametrize(
    ("nemesis", "result"),
    [("deleted", "unreadable"), ("emptied", "unreadable"), ("garbage", "invalid")],
)
def test_a_policy_that_goes_bad_changes_nothing(
    cluster: ControlPlane, scheduler: SchedulerProcess, nemesis: str, result: str
) -> None:
    admin = cluster.admin
    good = in_force(scheduler)
    if nemesis == "deleted":
        admin.delete(f"{HOME}/{NAME}")
    elif nemesis == "emptied":
        admin.replace(f"{HOME}/{NAME}", {"metadata": {"name": NAME}, "data": {}})
    else:
        write(admin, GARBAGE)
    shown = until_refused(scheduler, result)
    assert shown["policy"]["hash"] == good
    assert shown["lastRefused"]["code"] in ("KPS101", "KPS102")
    assert scheduler.metric("kpolicy_policy_last_good") == 1
    assert scheduler.metric("kpolicy_policy_last_reload_successful") == 0
    assert "ok" in scheduler.get("/readyz"), "a broken policy must not stop the scheduler"
    assert place(admin).startswith("ssd")
    write(admin, policy("hdd"))
    until_in_force(scheduler, good)
    assert scheduler.metric("kpolicy_policy_last_good") == 0


def test_what_is_wrong_is_reported_on_the_config_map_with_its_place(
    cluster: ControlPlane, scheduler: SchedulerProcess
) -> None:
    admin = cluster.admin
    before = in_force(scheduler)
    write(admin, policy("hdd"))
    before = until_in_force(scheduler, before)
    write(admin, policy("ssd").replace("expression", "expresion"))
    until_refused(scheduler, "invalid")
    place_of_it = f"configmap/{SPACE}/{NAME}/policy.yaml:7:"
    wait_for(
        lambda: any(place_of_it in event["note"] for event in events_of(admin, "PolicyRejected")),
        "an event with the place",
    )
    event = next(
        event for event in events_of(admin, "PolicyRejected") if place_of_it in event["note"]
    )
    assert event["type"] == "Warning"
    assert event["regarding"]["kind"] == "ConfigMap"
    assert event["regarding"]["uid"] == admin.get(f"{HOME}/{NAME}")["metadata"]["uid"]
    assert "KP102" in event["note"]
    assert "did you mean `expression`?" in event["note"]
    assert events_of(admin, "PolicyAccepted")

    def status() -> dict[str, Any] | None:
        read = json.loads(admin.get(f"{HOME}/{STATUS}")["data"]["status.json"])
        return dict(read) if read["conditions"][0]["status"] == "False" else None

    written = wait_for(status, "the status")
    assert [condition["type"] for condition in written["conditions"]] == ["Accepted", "Active"]
    assert written["conditions"][1]["reason"] == "LastGoodKept"
    assert written["active"]["hash"] == before
    assert written["diagnostics"][0]["file"] == f"configmap/{SPACE}/{NAME}/policy.yaml"


def test_flapping_compiles_at_a_bounded_rate_and_the_newest_wins(
    cluster: ControlPlane, scheduler: SchedulerProcess
) -> None:
    """N: 60 changes at 10 Hz (a busy machine takes longer), every third text bad."""
    admin = cluster.admin
    known = {in_force(scheduler)}
    before = scheduler.metric("kpolicy_policy_reload_total")
    began = time.monotonic()
    changes = 0
    while changes < 60:
        text = (policy("ssd"), policy("hdd"), GARBAGE)[changes % 3]
        write(admin, text + f"\n# {changes}\n")
        changes += 1
        known.add(in_force(scheduler))
        time.sleep(max(0.0, began + changes * 0.1 - time.monotonic()))
    took = time.monotonic() - began
    write(admin, policy("hdd"))
    reloads = scheduler.metric("kpolicy_policy_reload_total") - before
    print(f"{changes} changes in {took:.1f} s, {reloads:.0f} reloads")
    assert reloads <= 2 * took + 3
    wait_for(lambda: place(admin).startswith("hdd"), "the newest policy to decide")
    assert len(known) <= 3, "ssd, hdd, and what was before"


def test_flapping_keeps_no_pod_waiting(cluster: ControlPlane, scheduler: SchedulerProcess) -> None:
    """N: pods are bound while the policy changes at 10 Hz, and by policies that were there."""
    admin, stopped = cluster.admin, threading.Event()
    written: list[int] = []
    waited: list[float] = []
    places: set[str] = set()

    def flap() -> None:
        for number in count():
            write(admin, (policy("ssd"), policy("hdd"), GARBAGE)[number % 3])
            written.append(number)
            if stopped.wait(0.1):
                return

    flapping = threading.Thread(target=flap, daemon=True)
    before = scheduler.metric("kpolicy_policy_reload_total")
    flapping.start()
    try:
        while len(waited) < 30 or len(written) < 40:
            began = time.monotonic()
            places.add(place(admin)[:3])
            waited.append(time.monotonic() - began)
    finally:
        stopped.set()
        flapping.join()
    print(f"{len(written)} changes, {len(waited)} pods, bound after {max(waited):.2f} s at most")
    assert places <= {"ssd", "hdd"}
    assert scheduler.metric("kpolicy_policy_reload_total") - before >= 3


# --- across a restart ----------------------------------------------------------------------------


def test_a_restart_with_a_bad_policy_goes_on_with_the_last_good_one(
    cluster: ControlPlane, scheduler: SchedulerProcess, tmp_path: Path
) -> None:
    admin = cluster.admin
    write(admin, policy("hdd"))
    wait_for(lambda: place(admin).startswith("hdd"), "the policy for hdd")
    good = in_force(scheduler)
    kept = wait_for(lambda: admin.get(f"{HOME}/{STATUS}").get("binaryData"), "what was kept")
    assert set(kept) == {"last-good"}

    def is_kept() -> bool:
        status = json.loads(admin.get(f"{HOME}/{STATUS}")["data"]["status.json"])
        return bool(status["active"]["hash"] == good)

    wait_for(is_kept, "the status of the policy for hdd, which is written after it is kept")
    write(admin, GARBAGE)
    until_refused(scheduler, "invalid")
    with running(cluster, tmp_path / "second.log") as second:
        shown = configuration(second)
        assert (shown["policy"]["hash"], shown["policy"]["isLastGood"]) == (good, True)
        assert "THE LAST GOOD POLICY IS IN FORCE INSTEAD" in second.log()
        assert second.metric("kpolicy_policy_last_good") == 1
        wait_for(lambda: events_of(admin, "LastGoodPolicyUsed"), "the event")
        write(admin, policy("ssd"))
        until_in_force(second, good)
        assert second.metric("kpolicy_policy_last_good") == 0


def test_without_a_last_good_one_a_bad_policy_schedules_nothing(
    cluster: ControlPlane, tmp_path: Path
) -> None:
    admin = cluster.admin
    write(admin, policy("ssd").replace("expression", "expresion"))
    command = [
        str(KPOLICY),
        "run",
        f"--kubeconfig={cluster.kubeconfig(NORMAL)}",
        "--port=0",
        "--no-leader-elect",
        f"--policy-configmap={SPACE}/{NAME}",
        "--scheduler-names=kpolicy",
        "--policy-status=none",
    ]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert ended.returncode == 1
    assert f"configmap/{SPACE}/{NAME}/policy.yaml:7:" in ended.stderr
    assert "kpolicy: KPS102: the policy has " in ended.stderr
    admin.delete(f"{HOME}/{NAME}")
    ended = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert ended.returncode == 2
    assert f"kpolicy: KPS101: there is no ConfigMap {SPACE}/{NAME}" in ended.stderr


def test_a_hang_up_asks_the_api_server_again(
    cluster: ControlPlane, scheduler: SchedulerProcess
) -> None:
    before = scheduler.metric("kpolicy_policy_reload_total", result="unchanged")
    scheduler.hang_up()
    wait_for(
        lambda: scheduler.metric("kpolicy_policy_reload_total", result="unchanged") > before,
        "the policy to be read again",
    )


def test_a_shadow_policy_is_compared_and_never_acts(
    cluster: ControlPlane, scheduler: SchedulerProcess, tmp_path: Path
) -> None:
    admin, other = cluster.admin, "shadowed"
    served = policy("ssd").replace("schedulerName: kpolicy", f"schedulerName: {other}")
    files = {name: tmp_path / f"{name}.yaml" for name in ("in-force", "shadow")}
    files["in-force"].write_text(served)
    files["shadow"].write_text(served.replace("'ssd'", "'hdd'"))
    flags = ("--no-leader-elect", "--log-format=json", f"--shadow-policy={files['shadow']}")
    kubeconfig = cluster.kubeconfig(NORMAL)
    with SchedulerProcess(kubeconfig, files["in-force"], tmp_path / "log", flags) as process:
        admin.create_pods(10, prefix="shadowed", scheduler_name=other)

        def placed() -> dict[str, str]:
            found = admin.placements("default").items()
            return {pod: node for pod, node in found if pod.startswith("shadowed")}

        wait_for(lambda: len(placed()) == 10, "the pods to be bound")
        assert {node.split("-")[0] for node in placed().values()} == {"ssd"}
        counted = "kpolicy_shadow_decisions_total"
        wait_for(lambda: process.metric(counted, result="would_reject") == 10, "ten differences")
        assert process.metric(counted) == 10
        assert "the shadow policy differs: would_reject" in process.log()
        files["shadow"].write_text(served + "  nonsense: true\n")
        wait_for(lambda: process.metric("kpolicy_shadow_policy_valid") == 0, "it to be refused")
        files["shadow"].write_text(served)
        wait_for(lambda: process.metric("kpolicy_shadow_policy_valid") == 1, "it to be good")
        admin.create_pods(10, prefix="shadowed-same", scheduler_name=other)
        wait_for(lambda: process.metric(counted, result="same") == 10, "ten that are the same")


# --- and over all of it --------------------------------------------------------------------------


def test_every_pod_was_bound_by_a_policy_that_was_valid(
    cluster: ControlPlane, scheduler: SchedulerProcess
) -> None:
    """I11, over all pods of this module: the log names every policy that came into force."""
    lines = [json.loads(line) for line in scheduler.log().splitlines() if line.startswith("{")]
    valid = {line["policy_hash"] for line in lines if "policy in force" in line["msg"]}
    assert len(valid) >= 4
    hashes = [
        pod["metadata"]["annotations"]["kpolicy.dev/policy-hash"]
        for pod in cluster.admin.pods("default")
        if pod["spec"].get("nodeName") and pod["spec"]["schedulerName"] == "kpolicy"
    ]
    assert len(hashes) >= 10
    assert set(hashes) <= valid


def test_it_wrote_only_its_own_config_map(
    cluster: ControlPlane, scheduler: SchedulerProcess
) -> None:
    ours = [event for event in cluster.audit_events() if event.user == NORMAL and event.writes]
    assert len(ours) > 20
    assert {(event.verb, event.what) for event in ours} <= WRITES_ALLOWED | CONFIG_MAP_WRITES
    written = {event.name for event in ours if event.what == "configmaps"}
    assert written == {STATUS}
    assert [event for event in ours if event.code == 403] == []
