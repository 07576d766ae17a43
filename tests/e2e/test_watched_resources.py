"""kpolicy lists and watches what the policy in force reads, by the API server's audit log."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from tests.cluster.client import wait_for
from tests.cluster.control_plane import ControlPlane
from tests.cluster.users import NORMAL
from tests.e2e.rights import SCENARIO_RULES
from tests.e2e.scheduler_process import SchedulerProcess

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(300)]

FEW = """\
apiVersion: kpolicy.dev/v1alpha1
kind: SchedulingPolicy
metadata: {name: few}
spec:
  base: none
  profiles: [{schedulerName: kpolicy}]
  preemption: {policy: Never}
  predicates:
    - builtin: TaintToleration
    - builtin: NodeResourcesFit
"""
DEFAULT = """\
apiVersion: kpolicy.dev/v1alpha1
kind: SchedulingPolicy
metadata: {name: default}
spec:
  base: kube-scheduler-default
  profiles: [{schedulerName: kpolicy}]
"""
READ_BY_FEW = {"deviceclasses", "nodes", "pods"}
READ_BY_DEFAULT = READ_BY_FEW | {
    "csidrivers",
    "csinodes",
    "csistoragecapacities",
    "devicetaintrules",
    "namespaces",
    "persistentvolumeclaims",
    "persistentvolumes",
    "poddisruptionbudgets",
    "replicasets",
    "replicationcontrollers",
    "resourceclaims",
    "resourceslices",
    "services",
    "statefulsets",
    "storageclasses",
    "volumeattachments",
}


# An API server of 1.36 does not serve the others.
SERVED_BY_DEFAULT = READ_BY_DEFAULT - {"devicetaintrules"}


def test_a_smaller_policy_watches_less(control_plane_binary: object, tmp_path: Path) -> None:
    policy = tmp_path / "policy.yaml"
    policy.write_text(FEW)
    with ControlPlane() as plane:
        plane.grant(NORMAL, SCENARIO_RULES)
        admin = plane.admin
        admin.create_nodes(1, prefix="node")
        admin.create_namespace("load")

        def lists() -> Counter[str]:
            """Whole ones, not the first question whether it may be listed."""
            return Counter(
                event.resource
                for event in plane.audit_events()
                if event.verb == "list"
                and event.resource in SERVED_BY_DEFAULT
                and "limit=1&" not in f"{event.uri}&"
                and event.user == NORMAL
                and event.user_agent.startswith("kpolicy")
            )

        def listed(counts: dict[str, int]) -> None:
            """The API server logs a request a moment after it was answered."""
            wait_for(lambda: lists() == counts, f"lists as in {counts}")

        with SchedulerProcess(plane.kubeconfig(NORMAL), policy, tmp_path / "log") as scheduler:

            def watched() -> set[str]:
                metrics = scheduler.get("/metrics")
                sample = 'kpolicy_watch_synced{{resource="{}"}} 1'
                return {name for name in SERVED_BY_DEFAULT if sample.format(name) in metrics}

            def becomes(text: str, resources: set[str]) -> None:
                policy.write_text(text)
                wait_for(
                    lambda: watched() == resources,
                    f"{sorted(resources)} to be watched",
                    timeout_s=60,
                )

            assert watched() == READ_BY_FEW
            listed(dict.fromkeys(READ_BY_FEW, 1))
            becomes(DEFAULT, SERVED_BY_DEFAULT)
            listed(dict.fromkeys(SERVED_BY_DEFAULT, 1))
            becomes(FEW, READ_BY_FEW)
            admin.create_pod("by-few", namespace="load", scheduler_name="kpolicy")
            wait_for(lambda: "by-few" in admin.placements("load"), "a pod to be bound by few")
            listed(dict.fromkeys(SERVED_BY_DEFAULT, 1))
            # What begins again begins with a whole list, what went on has none.
            becomes(DEFAULT, SERVED_BY_DEFAULT)
            admin.create_pod("by-all", namespace="load", scheduler_name="kpolicy")
            wait_for(lambda: "by-all" in admin.placements("load"), "a pod to be bound by all")
            again = dict.fromkeys(SERVED_BY_DEFAULT - READ_BY_FEW, 2)
            listed(dict.fromkeys(READ_BY_FEW, 1) | again)
            assert scheduler.alive
