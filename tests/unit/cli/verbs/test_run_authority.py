"""`kpolicy run` refuses a policy in a ConfigMap that wants more than the process allows; the last
good policy stays in force."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from kpolicy.testing import node, pod
from kpolicy.testing.control_plane import ControlPlane
from tests.unit.cli.verbs.test_run_process import (
    finished,
    log_line,
    process,
    until_placed,
)

HEAD = """\
apiVersion: kpolicy.dev/v1alpha1
kind: SchedulingPolicy
metadata: {name: mine}
spec:
  base: kube-scheduler-default
"""
GOOD = HEAD + "  profiles: [{schedulerName: kpolicy}]\n"
CLAIMS = HEAD + "  profiles: [{schedulerName: kpolicy}, {schedulerName: default-scheduler}]\n"
SENDS = GOOD + "  extenders: [{urlPrefix: 'http://192.0.2.1:8000', filterVerb: filter}]\n"
CLIMBS = (
    GOOD + "  extenders: [{urlPrefix: 'http://127.0.0.1:9/x', filterVerb: ../../api/v1/nodes}]\n"
)
READS = GOOD + (
    "  extenders:\n"
    "    - {urlPrefix: 'https://127.0.0.1:9', filterVerb: filter, tlsConfig: {caFile: /dev/ptmx}}\n"
)
PARAMS = GOOD + "  paramsFrom: [{configMap: {namespace: ../../nodes, name: n1}}]\n"
FLAGS = ("--policy-configmap=default/policy", "--scheduler-names=kpolicy", "--policy-status=none")


def config_map(text: str) -> dict[str, Any]:
    metadata = {"namespace": "default", "name": "policy"}
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": metadata,
        "data": {"policy.yaml": text},
    }


async def replace(control_plane: ControlPlane, body: dict[str, Any]) -> None:
    url = f"{control_plane.url}/api/v1/namespaces/default/configmaps/policy"
    async with aiohttp.ClientSession() as session, session.put(url, json=body) as answer:
        assert answer.status == 200, await answer.text()


async def test_a_config_map_needs_the_names_that_it_may_serve() -> None:
    status, lines = await finished("--policy-configmap=default/policy", "--kubeconfig", "/nowhere")
    assert status == 2
    (line,) = lines
    assert line.startswith("kpolicy: KPS202: --policy-configmap needs --scheduler-names: ")


@pytest.mark.parametrize(
    ("text", "code"),
    [(CLAIMS, "KP131"), (SENDS, "KP132"), (READS, "KP133"), (CLIMBS, "KP134"), (PARAMS, "KP113")],
    ids=["claims a scheduler", "sends pods", "reads a file", "climbs", "climbs by params"],
)
async def test_a_policy_that_takes_authority_is_refused(
    tmp_path: Path, text: str, code: str
) -> None:
    allowed = ("--extender-hosts=127.0.0.1:9",) if code in ("KP133", "KP134") else ()
    async with ControlPlane() as control_plane:
        config = control_plane.write_kubeconfig(tmp_path / "kubeconfig")
        control_plane.add(config_map(text))
        flags = ("--kubeconfig", str(config), "--port=0", "--no-leader-elect", *FLAGS, *allowed)
        status, lines = await finished(*flags)
    assert status == 1
    assert lines[0].startswith("configmap/default/policy/policy.yaml:")
    assert code in lines[0]
    assert lines[-1].startswith("kpolicy: KPS102: the policy has 1 error, first: ")


async def test_the_last_good_policy_stays_in_force(tmp_path: Path) -> None:
    async with ControlPlane() as control_plane:
        config = control_plane.write_kubeconfig(tmp_path / "kubeconfig")
        control_plane.add(config_map(GOOD), node("n1"))
        flags = ("--kubeconfig", str(config), "--port=0", "--no-leader-elect", "--log-format=json")
        async with process(*flags, *FLAGS) as started:
            await log_line(started, "ready")
            await replace(control_plane, config_map(CLAIMS))
            line = await log_line(started, "stays in force")
            assert "KP131" in json.dumps(line)
            control_plane.add(pod("theirs", scheduler_name="default-scheduler"), pod("ours"))
            await until_placed(control_plane, "ours")
            theirs = next(
                found
                for found in control_plane.objects("Pod")
                if found["metadata"]["name"] == "theirs"
            )
            assert "nodeName" not in theirs["spec"]
