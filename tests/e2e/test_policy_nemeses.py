"""Nemeses of the policy (N): pods keep coming while the ConfigMap is deleted, emptied, replaced
with garbage, and flapping at 10 Hz.

I11: every pod is bound by a policy that compiled and that was offered; while there is only a bad
one, by the last good one.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.cluster.client import Client, wait_for
from tests.cluster.control_plane import ControlPlane
from tests.cluster.users import NORMAL
from tests.e2e.judged import Judged, judge, recording
from tests.e2e.nemeses.stream import Stream
from tests.e2e.policy_hash import policy_hash
from tests.e2e.rights import SCENARIO_RULES, of_config_maps
from tests.e2e.scheduler_process import SchedulerProcess
from tests.e2e.stage import PROFILE, Stage
from tests.e2e.test_policy_source import GARBAGE, HOME, NAME, SPACE, STATUS, config_map, policy
from tests.invariants.history import POLICY_HASH
from tests.invariants.recording import Recording

pytestmark = pytest.mark.cluster

PODS = 8
FLAPS, FLAP_S = 30, 0.1
HOW = Judged(frozenset({PROFILE}), unjudged=frozenset({PROFILE}), kept_in=f"{SPACE}/{STATUS}")


class Offers:
    """Writes the ConfigMap, and tells the recording of what can be read from then on."""

    def __init__(self, admin: Client, recorded: Recording) -> None:
        self._admin = admin
        self._recorded = recorded

    def put(self, text: str) -> str:
        """Writes the policy; returns its hash, which is empty if it does not compile."""
        offered = policy_hash(text)
        self._recorded.offer(offered)
        body = config_map(text)
        if self._admin.exists(f"{HOME}/{NAME}"):
            self._admin.replace(f"{HOME}/{NAME}", body)
        else:
            self._admin.create(HOME, body)
        return offered

    def delete(self) -> None:
        self._recorded.offer("")
        self._admin.delete(f"{HOME}/{NAME}")

    def empty(self) -> None:
        self._recorded.offer("")
        self._admin.replace(f"{HOME}/{NAME}", {"metadata": {"name": NAME}, "data": {}})


def delete(offers: Offers) -> None:
    offers.delete()


def empty(offers: Offers) -> None:
    offers.empty()


def garbage(offers: Offers) -> None:
    assert not offers.put(GARBAGE)


def flap(offers: Offers) -> None:
    """Changes the ConfigMap at 10 Hz; every third text is bad."""
    began = time.monotonic()
    for change in range(FLAPS):
        text = (policy("ssd"), policy("hdd"), GARBAGE)[change % 3]
        offers.put(f"{text}\n# {change}\n")
        time.sleep(max(0.0, began + (change + 1) * FLAP_S - time.monotonic()))


@pytest.fixture(scope="module")
def cluster(control_plane_binary: object) -> Iterator[ControlPlane]:
    with ControlPlane() as plane:
        plane.admin.create_namespace(SPACE)
        plane.grant(NORMAL, SCENARIO_RULES)
        plane.grant(NORMAL, of_config_maps([NAME], [STATUS]), namespace=SPACE)
        for disk in ("ssd", "hdd"):
            plane.admin.create_nodes(2, prefix=disk, labels={"disk": disk}, pods=1000)
        plane.admin.create(HOME, config_map(policy("ssd")))
        yield plane


@pytest.mark.parametrize(
    "nemesis", [delete, empty, garbage, flap], ids=lambda write: write.__name__
)
@pytest.mark.timeout(300)
def test_n_pods_are_bound_by_a_good_policy_whatever_is_offered(
    cluster: ControlPlane, tmp_path: Path, nemesis: Callable[[Offers], None]
) -> None:
    admin = cluster.admin
    named = f"--policy-configmap={SPACE}/{NAME}"
    flags = ("--no-leader-elect", named, "--scheduler-names=kpolicy")
    process = SchedulerProcess(cluster.kubeconfig(NORMAL), None, tmp_path / "log", flags)
    with recording(cluster, HOW) as recorded:
        offers = Offers(admin, recorded)
        good = offers.put(policy("ssd"))
        with process:
            stage = Stage(cluster, process, f"policy-{nemesis.__name__}")
            with Stream(stage) as stream:
                stream.wait_more(PODS)
                wait_for(lambda: len(stage.placements()) >= PODS, "pods to be bound before it")
                nemesis(offers)
                if nemesis is not flap:
                    wait_for(
                        lambda: process.metric("kpolicy_policy_last_good") == 1,
                        "the scheduler to know that there is no good one",
                    )
                during = set(stream.made)
                stream.wait_more(PODS)
                wait_for(
                    lambda: len(stage.placements().keys() - during) >= PODS // 2,
                    "pods that came after it to be bound, whatever the ConfigMap says",
                )
                after = offers.put(policy("hdd"))
                wait_for(lambda: after in hashes(stage), "the good policy to decide", timeout_s=90)
            stage.all_bound(len(stream.made))
            stage.settled()
            history = judge(process, recorded)
            placed = stage.placements()
    by = hashes_of(admin, stage.namespace)
    assert len(by) == len(placed) == len(history.binds()) >= 2 * PODS
    assert {good, after} <= set(by.values())
    if nemesis is not flap:
        assert set(by.values()) == {good, after}
        wrong = [pod for pod, node in placed.items() if by[pod] == good and node[:3] != "ssd"]
        assert wrong == []


def hashes(stage: Stage) -> set[str]:
    return set(hashes_of(stage.admin, stage.namespace).values())


def hashes_of(admin: Client, namespace: str) -> dict[str, str]:
    """The hash of the policy by which each pod was bound."""
    return {
        pod["metadata"]["name"]: pod["metadata"]["annotations"][POLICY_HASH]
        for pod in admin.pods(namespace)
        if pod["spec"].get("nodeName")
    }
