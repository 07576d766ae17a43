"""The rights and the credentials of kpolicy change while it runs."""

from __future__ import annotations

import csv
import itertools
import json
import secrets
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cluster.audit import binds
from tests.cluster.client import wait_for
from tests.cluster.control_plane import ControlPlane
from tests.cluster.users import KUBE_SCHEDULER, NORMAL
from tests.e2e.judged import BROKEN_LAG_S
from tests.e2e.nemeses.conftest import POLICY
from tests.e2e.nemeses.proxy import kubeconfig_at
from tests.e2e.rights import SCENARIO_RULES
from tests.e2e.scenarios.conftest import play
from tests.e2e.scheduler_process import SchedulerProcess
from tests.e2e.stage import Stage

pytestmark = pytest.mark.cluster

BINDING = [rule for rule in SCENARIO_RULES if "pods/binding" in rule.resources]
FLAGS = ("--no-leader-elect",)
PLUGINS = "client.authentication.k8s.io/v1"


@pytest.fixture(scope="module")
def plane(control_plane_binary: object) -> Iterator[ControlPlane]:
    """A control plane in which the right to bind is a separate grant."""
    with ControlPlane() as running:
        running.grant(NORMAL, [rule for rule in SCENARIO_RULES if rule not in BINDING])
        yield running


@pytest.fixture
def binding(plane: ControlPlane) -> str:
    return plane.grant(NORMAL, BINDING)


def test_n_without_the_right_to_bind_pods_say_so_and_are_bound_once_it_is_back(
    plane: ControlPlane, binding: str, tmp_path: Path
) -> None:
    kubeconfig = plane.kubeconfig(NORMAL)
    with SchedulerProcess(kubeconfig, POLICY, tmp_path / "log", FLAGS) as process:
        for stage in play(plane, process, "revoked"):
            _lose_and_regain(stage, binding)


def _lose_and_regain(stage: Stage, binding: str) -> None:
    plane, user = stage.plane, stage.plane.client(NORMAL)
    stage.node("only")
    stage.pod("before")
    stage.bound("before", "only")
    plane.revoke(binding)
    path = f"{stage.path('before')}/binding"
    wait_for(lambda: user.request("POST", path, {}).status == 403, "the right to be gone")
    stage.pod("during")
    assert "403" in wait_for(lambda: _failure(stage, "during"), "the pod to say why")
    assert stage.scheduler.status("/livez")[0] == 200
    plane.grant(NORMAL, BINDING)
    stage.bound("during", "only", timeout_s=60)


@pytest.mark.timeout(240)
def test_n_an_authority_that_is_rotated_on_disk_is_taken_up(
    plane: ControlPlane, tmp_path: Path
) -> None:
    """The API server comes back with a certificate of another authority, whose own is in the file
    that the kubeconfig names."""
    plane.grant(NORMAL, BINDING)
    kubeconfig = kubeconfig_at(
        plane, NORMAL, plane.server, tmp_path / "kubeconfig", ca_file=plane.ca_file
    )
    with SchedulerProcess(kubeconfig, POLICY, tmp_path / "log", FLAGS) as process:
        for stage in play(plane, process, "authority", lag_s=BROKEN_LAG_S):
            stage.node("only")
            stage.pod("before")
            stage.bound("before", "only")
            plane.renew_certificates()
            plane.restart_api_server()
            stage.pod("after")
            began = time.monotonic()
            stage.bound("after", "only", timeout_s=120)
            print(f"bound {time.monotonic() - began:.1f} s after the rotation")


@pytest.mark.timeout(180)
def test_n_a_token_that_is_rotated_on_disk_is_taken_up(plane: ControlPlane, tmp_path: Path) -> None:
    """As the kubelet does: the file is replaced, and the API server knows the old token no more."""
    plane.grant(NORMAL, BINDING)
    token, fresh = tmp_path / "token", secrets.token_hex(16)
    token.write_text(plane.token(NORMAL))
    kubeconfig = kubeconfig_at(
        plane, NORMAL, plane.server, tmp_path / "kubeconfig", token_file=token
    )
    with SchedulerProcess(kubeconfig, POLICY, tmp_path / "log", FLAGS) as process:
        for stage in play(plane, process, "rotated", lag_s=BROKEN_LAG_S):
            stage.node("only")
            stage.pod("before")
            stage.bound("before", "only")
            replacement = tmp_path / "token.new"
            replacement.write_text(fresh)
            replacement.replace(token)
            _rotate(plane, fresh)
            stage.pod("after")
            stage.bound("after", "only", timeout_s=120)
    _rotate(plane, plane.token(NORMAL))  # for the other tests


@pytest.mark.timeout(240)
def test_n_a_plugin_is_asked_again_before_its_token_ends(
    plane: ControlPlane, tmp_path: Path
) -> None:
    """The old token is good all the while: it is not a refusal that has the plugin asked. Each is
    another user's, so that the audit log tells which was used."""
    plane.grant(KUBE_SCHEDULER, SCENARIO_RULES)
    plane.grant(NORMAL, BINDING)
    token = tmp_path / "token"
    token.write_text(plane.token(NORMAL))
    kubeconfig = kubeconfig_at(plane, NORMAL, plane.server, tmp_path / "kubeconfig")
    document = json.loads(kubeconfig.read_text())
    command = {"command": str(_plugin(tmp_path)), "args": [str(token)], "interactiveMode": "Never"}
    document["users"][0]["user"] = {"exec": {"apiVersion": PLUGINS, **command}}
    kubeconfig.write_text(json.dumps(document))
    with SchedulerProcess(kubeconfig, POLICY, tmp_path / "log", FLAGS) as process:
        for stage in play(plane, process, "plugin"):
            _change_user(stage, token)


def _change_user(stage: Stage, token: Path) -> None:
    plane, number = stage.plane, itertools.count()

    def binder(name: str) -> str:
        stage.pod(name, cpu="10m", memory=None)
        stage.bound(name, "only", timeout_s=60)
        return _binder(stage, name)

    stage.node("only")
    assert binder("before") == NORMAL
    replacement = token.with_name("token.new")
    replacement.write_text(plane.token(KUBE_SCHEDULER))
    replacement.replace(token)
    wait_for(
        lambda: binder(f"after-{next(number)}") == KUBE_SCHEDULER,
        "the new token to be used",
        timeout_s=120,
        every_s=1,
    )


def _plugin(folder: Path) -> Path:
    """An exec plugin whose tokens expire in 62 s. It must be asked again a minute before."""
    status = '{"token":"%s","expirationTimestamp":"%s"}'
    answer = f'{{"apiVersion":"{PLUGINS}","kind":"ExecCredential","status":{status}}}'
    path = folder / "plugin"
    path.write_text(
        "#!/bin/sh\nends=$(date -u -d '+62 seconds' +%Y-%m-%dT%H:%M:%SZ)\n"
        f'printf \'{answer}\' "$(cat "$1")" "$ends"\n'
    )
    path.chmod(0o755)
    return path


def _binder(stage: Stage, pod: str) -> str:
    """The user that bound the pod, from the audit log."""

    def user() -> str:
        for bind in binds(stage.plane.audit_events(), stage.namespace):
            if bind.succeeded and bind.pod == pod:
                return bind.user
        return ""

    return wait_for(user, f"the bind of {pod} in the audit log")


def _failure(stage: Stage, pod: str) -> str:
    found = stage.condition(pod)
    return found["message"] if found.get("reason") == "SchedulerError" else ""


def _rotate(plane: ControlPlane, fresh: str) -> None:
    """Another token for the user, in force when the API server has started again."""
    path = plane.folder / "tokens.csv"
    with path.open(newline="") as file:
        rows = [row if row[1] != NORMAL else [fresh, *row[1:]] for row in csv.reader(file)]
    with path.open("w", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows(rows)
    plane.restart_api_server()
