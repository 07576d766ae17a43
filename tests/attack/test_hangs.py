"""A leader of which one part hangs is replaced in time, and no invariant is violated by that."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.attack.hangs import PARTS, PROCESSES, scene_of, take_over_s
from tests.attack.take_over import TAKE_OVER_S_MAX, HangingReplica
from tests.cluster.control_plane import ControlPlane
from tests.cluster.users import NORMAL
from tests.e2e.rights import SCENARIO_RULES
from tests.e2e.scheduler_process import SchedulerProcess
from tests.e2e.stage import PROFILE
from tests.invariants.check import violations
from tests.invariants.inputs import inputs
from tests.invariants.recording import Recording

pytestmark = pytest.mark.cluster

# The most telling two; the others take half a minute each.
IN_EVERY_RUN = ("loop", "engine-call")
PODS = 3
ENDS_WITHIN_S = 30


@pytest.fixture(scope="module")
def plane(control_plane_binary: object) -> Iterator[ControlPlane]:
    with ControlPlane() as running:
        running.grant(NORMAL, SCENARIO_RULES)
        yield running


@pytest.mark.parametrize(
    "hang",
    [
        pytest.param(hang, marks=() if hang in IN_EVERY_RUN else pytest.mark.full)
        for hang in (*PARTS, *PROCESSES)
    ],
)
@pytest.mark.timeout(240)
def test_another_replica_leads_in_time(plane: ControlPlane, tmp_path: Path, hang: str) -> None:
    with Recording(plane, users=(NORMAL,), profiles=(PROFILE,)) as recorded:
        with scene_of(plane, tmp_path, hang) as scene:
            took_s = take_over_s(scene, hang)
            print(f"{hang}: the other replica has bound {took_s:.1f} s after")
            if isinstance(scene.leader, HangingReplica):
                assert scene.leader.ended(ENDS_WITHIN_S) == 1, scene.leader.tail()
                assert "KPS301" in scene.leader.log()
        assert violations(recorded.history()) == []
        assert inputs(recorded.history())["I8"] >= PODS
    assert took_s <= TAKE_OVER_S_MAX


POLICY_WITH_A_DEVICE = """\
apiVersion: kpolicy.dev/v1alpha1
kind: SchedulingPolicy
metadata: {name: hangs}
spec:
  base: kube-scheduler-default
  profiles: [{schedulerName: kpolicy}]
  extenders:
    - urlPrefix: https://127.0.0.1:1/
      filterVerb: filter
      tlsConfig: {caFile: /dev/ptmx}
"""


def test_a_policy_that_names_a_device_as_a_certificate_is_refused(
    plane: ControlPlane, tmp_path: Path
) -> None:
    """Reading it would block for ever."""
    policy = tmp_path / "policy.yaml"
    policy.write_text(POLICY_WITH_A_DEVICE)
    flags = ("--lease-namespace=default",)
    process = SchedulerProcess(plane.kubeconfig(NORMAL), policy, tmp_path / "log", flags)
    try:
        process.start()
        assert process.ended(ENDS_WITHIN_S) == 1
    finally:
        process.kill()
    assert "KPS204" in process.log()
    assert "/dev/ptmx: not a regular file" in process.log()
