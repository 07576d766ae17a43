"""`kpolicy run` as a process: what it prints, and how it ends."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from kpolicy.testing import node, pod
from kpolicy.testing.apiserver.api_calls import FaultRule, RequestFault, ScriptedFaults
from kpolicy.testing.control_plane import ControlPlane

MAIN = "import sys; from kpolicy.cli import main; sys.exit(main())"
WAIT_S = 30.0
POLICY = """\
apiVersion: kpolicy.dev/v1alpha1
kind: SchedulingPolicy
metadata: {name: mine}
spec:
  base: kube-scheduler-default
  profiles: [{schedulerName: kpolicy}]
"""


@asynccontextmanager
async def process(*arguments: str, **environ: str) -> AsyncIterator[asyncio.subprocess.Process]:
    # Nothing of the machine's own configuration reaches the process.
    clean = {name: os.environ[name] for name in ("PATH", "PYTHONPATH") if name in os.environ}
    started = await asyncio.create_subprocess_exec(
        sys.executable,
        "-c",
        MAIN,
        "run",
        *arguments,
        env=clean | {"HOME": "/nonexistent"} | environ,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        yield started
    finally:
        if started.returncode is None:
            started.kill()
        await started.wait()


async def finished(*arguments: str, **environ: str) -> tuple[int, list[str]]:
    async with process(*arguments, **environ) as started:
        out, err = await asyncio.wait_for(started.communicate(), WAIT_S)
        assert out == b"", "messages for people go to stderr"
        assert started.returncode is not None
        text = err.decode()
        assert "Traceback" not in text, text
        return started.returncode, text.splitlines()


async def log_line(started: asyncio.subprocess.Process, word: str) -> dict[str, object]:
    """The first log line with this word in its message."""
    assert started.stderr is not None
    async with asyncio.timeout(WAIT_S):
        while line := await started.stderr.readline():
            if word in json.loads(line)["msg"]:
                return dict(json.loads(line))
    raise AssertionError(f"it ended without saying {word!r}")


@asynccontextmanager
async def serving(
    tmp_path: Path, *arguments: str, **environ: str
) -> AsyncIterator[tuple[ControlPlane, asyncio.subprocess.Process]]:
    async with ControlPlane() as control_plane:
        control_plane.add(node("n1"), node("n2"), pod("first"))
        config = control_plane.write_kubeconfig(tmp_path / "kubeconfig")
        async with process(
            "--kubeconfig",
            str(config),
            "--port",
            "0",
            "--log-format",
            "json",
            *arguments,
            **environ,
        ) as started:
            await log_line(started, "ready")
            yield control_plane, started


def placed(control_plane: ControlPlane) -> set[str]:
    return {
        found["metadata"]["name"]
        for found in control_plane.objects("Pod")
        if found["spec"].get("nodeName")
    }


async def until_placed(control_plane: ControlPlane, name: str) -> None:
    async with asyncio.timeout(WAIT_S):
        while name not in placed(control_plane):  # noqa: ASYNC110  it tells nobody
            await asyncio.sleep(0.02)


# --- what the user can mend: one clear line, no traceback ----------------------------------------


async def test_without_a_cluster_it_says_what_to_give() -> None:
    status, lines = await finished()
    assert status == 2
    assert len(lines) == 1
    assert lines[0].startswith("kpolicy: KPC113: ")
    assert "--kubeconfig" in lines[0]


async def test_a_kubeconfig_that_is_not_there(tmp_path: Path) -> None:
    status, lines = await finished("--kubeconfig", str(tmp_path / "none"))
    assert (status, len(lines)) == (2, 1)
    assert "there is no kubeconfig at" in lines[0]


async def test_a_cluster_that_is_not_there_yet_is_waited_for_and_reported(tmp_path: Path) -> None:
    async with ControlPlane() as control_plane:
        config = control_plane.write_kubeconfig(tmp_path / "kubeconfig")
    async with process("--kubeconfig", str(config), "--port", "0") as started:
        line = await log_line(started, "waiting for the API server")
        assert line["level"] == "warning"
        started.terminate()
        assert await asyncio.wait_for(started.wait(), WAIT_S) == 0


async def test_credentials_that_are_refused_are_reported_at_once(tmp_path: Path) -> None:
    refused = ScriptedFaults([FaultRule(RequestFault(status=401), times=None)])
    async with ControlPlane(faults=refused) as control_plane:
        config = control_plane.write_kubeconfig(tmp_path / "kubeconfig")
        status, lines = await finished(
            "--kubeconfig", str(config), "--port", "0", "--log-level", "error"
        )
    assert (status, len(lines)) == (2, 1)
    assert lines[0].startswith("kpolicy: KPC204: cannot ")


async def test_a_port_that_is_taken(tmp_path: Path) -> None:
    with socket.socket() as busy_socket:
        busy_socket.bind(("127.0.0.1", 0))
        busy_socket.listen()
        port = busy_socket.getsockname()[1]
        async with ControlPlane() as control_plane:
            config = control_plane.write_kubeconfig(tmp_path / "kubeconfig")
            status, lines = await finished("--kubeconfig", str(config), "--port", str(port))
    assert (status, len(lines)) == (2, 1)
    assert lines[0] == (
        f"kpolicy: KPS201: port {port} of 127.0.0.1 is in use by another process"
        " (choose another with --port, or --port 0 for none)"
    )


async def test_a_user_without_rights(tmp_path: Path) -> None:
    forbidden = ScriptedFaults([FaultRule(RequestFault(status=403), resource="pods", times=None)])
    async with ControlPlane(faults=forbidden) as control_plane:
        config = control_plane.write_kubeconfig(tmp_path / "kubeconfig")
        status, lines = await finished("--kubeconfig", str(config), "--port", "0")
    assert (status, len(lines)) == (2, 1)
    assert lines[0].startswith("kpolicy: KPC205: cannot list pods: ")
    assert "RBAC" in lines[0]


async def test_a_policy_with_errors_is_shown_as_lint_shows_it(tmp_path: Path) -> None:
    bad = tmp_path / "bad.yaml"
    bad.write_text(POLICY.replace("base:", "bsae:"))
    async with ControlPlane() as control_plane:
        config = control_plane.write_kubeconfig(tmp_path / "kubeconfig")
        status, lines = await finished(
            "--kubeconfig", str(config), "--port", "0", "--policy", str(bad)
        )
    assert status == 1
    assert lines[0].startswith(f"{bad}:5:3:")
    assert "KP102" in lines[0]
    assert lines[-1].startswith("kpolicy: KPS102: the policy has ")
    assert not any(line.startswith("{") for line in lines)


async def test_a_mistake_in_a_policy_is_named_even_if_no_api_server_answers(
    tmp_path: Path,
) -> None:
    async with ControlPlane() as control_plane:
        config = control_plane.write_kubeconfig(tmp_path / "kubeconfig")
    flags = ("--kubeconfig", str(config), "--port", "0", "--policy", str(tmp_path / "p.yaml"))
    status, lines = await finished(*flags)
    assert (status, len(lines)) == (2, 1)
    assert lines[0].startswith("kpolicy: KPS101: cannot read policy ")
    (tmp_path / "p.yaml").write_text(POLICY.replace("base:", "bsae:"))
    status, lines = await finished(*flags)
    assert status == 1
    assert lines[-1].startswith("kpolicy: KPS102: the policy has ")


_OF_RELEASE = """\
  compatibility: {release: auto}
  priorities: [{builtin: VolumeBinding, weight: 1, args: {shape: []}}]
"""
_OF_CONFIG_MAP = "  paramsFrom: [{configMap: {namespace: default, name: limits}}]\n"


@pytest.mark.parametrize("of_cluster", [_OF_CONFIG_MAP, _OF_RELEASE], ids=["params", "release"])
async def test_what_the_cluster_may_mend_is_no_mistake_before_it_answers(
    of_cluster: str, tmp_path: Path
) -> None:
    async with ControlPlane() as control_plane:
        config = control_plane.write_kubeconfig(tmp_path / "kubeconfig")
    (tmp_path / "p.yaml").write_text(POLICY + of_cluster)
    async with process(
        *("--kubeconfig", str(config), "--port", "0", "--policy", str(tmp_path / "p.yaml"))
    ) as started:
        await log_line(started, "waiting for the API server")


async def test_a_policy_that_is_not_there(tmp_path: Path) -> None:
    async with ControlPlane() as control_plane:
        config = control_plane.write_kubeconfig(tmp_path / "kubeconfig")
        status, lines = await finished(
            "--kubeconfig", str(config), "--port", "0", "--policy", str(tmp_path / "none.yaml")
        )
    assert (status, len(lines)) == (2, 1)
    assert lines[0].startswith("kpolicy: KPS101: cannot read policy ")


@pytest.mark.parametrize(
    ("flag", "value", "message"),
    [
        ("--port", "http", "argument --port: `http` is not a whole number"),
        ("--port", "70000", "KPS202: port 70000 is not between 0 and 65535"),
        ("--seed", "x", "argument --seed: `x` is not a whole number"),
        ("--seed", "-1", "KPS202: seed -1 is not between 0 and "),
        ("--seed", str(10**23), f"KPS202: seed {10**23} is not between 0 and "),
        (
            "--lease-name",
            "Bad_Name",
            "KPS202: --lease-name=Bad_Name is not a valid name of a Lease",
        ),
        (
            "--lease-namespace",
            "a.b",
            "KPS202: --lease-namespace=a.b is not a valid name of a namespace",
        ),
        (
            "--bind-address",
            "a_b",
            "KPS202: --bind-address=a_b is neither an address nor the name of a host",
        ),
        ("--pod-max-backoff", "x", "argument --pod-max-backoff: `x` is not a number of seconds"),
        ("--pod-max-backoff", "0.5", "KPS202: --pod-max-backoff=0.5 is less than the first, 1"),
        ("--flush-after", "0", "KPS202: --flush-after=0 is not between 0.1 and 86,400 seconds"),
        ("--flush-period", "nan", "KPS202: --flush-period=nan is not between 0.1 and 86,400 "),
        ("--binds-in-flight", "0", "KPS202: --binds-in-flight=0 is not between 1 and 1,024"),
        ("--lease-duration", "1", "KPS202: "),
        ("--policy-configmap", "a/b/c", "KPS202: --policy-configmap: `a/b/c` names no ConfigMap"),
        ("--policy-status", "A", "KPS202: --policy-status: `A` names no ConfigMap"),
    ],
)
async def test_what_makes_no_sense_is_reported_before_the_cluster_is_asked(
    flag: str, value: str, message: str
) -> None:
    status, lines = await finished(flag, value, "--kubeconfig", "/nowhere")
    assert status == 2
    assert message in "\n".join(lines)


# --- a life --------------------------------------------------------------------------------------


async def test_it_places_pods_and_ends_cleanly_on_a_signal(tmp_path: Path) -> None:
    async with serving(tmp_path) as (control_plane, started):
        await until_placed(control_plane, "first")
        control_plane.add(pod("second"))
        await until_placed(control_plane, "second")
        (lease,) = control_plane.objects("Lease")
        assert lease["spec"]["holderIdentity"]
        began = time.monotonic()
        started.send_signal(signal.SIGTERM)
        assert await asyncio.wait_for(started.wait(), WAIT_S) == 0
        assert time.monotonic() - began < 8
        (lease,) = control_plane.objects("Lease")
        assert lease["spec"]["holderIdentity"] == "", "the next leader does not have to wait"


async def test_a_dead_collector_does_not_hold_up_the_end(tmp_path: Path) -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        endpoint = f"http://127.0.0.1:{silent.getsockname()[1]}"
        environ = {"OTEL_EXPORTER_OTLP_ENDPOINT": endpoint}
        async with serving(tmp_path, "--no-leader-elect", **environ) as (control_plane, started):
            await until_placed(control_plane, "first")
            began = time.monotonic()
            started.send_signal(signal.SIGINT)
            assert await asyncio.wait_for(started.wait(), WAIT_S) == 0
            assert time.monotonic() - began < 8


async def test_hangup_and_saving_the_file_put_a_policy_in_force(tmp_path: Path) -> None:
    policy = tmp_path / "policy.yaml"
    policy.write_text(POLICY)
    async with serving(tmp_path, "--no-leader-elect", KPOLICY_POLICY=str(policy)) as (
        control_plane,
        started,
    ):
        control_plane.add(pod("batch", scheduler_name="batch"))
        await until_placed(control_plane, "first")
        policy.write_text(POLICY + "  nonsense: true\n")
        line = await log_line(started, "stays in force")
        assert line["level"] == "error"
        policy.write_text(POLICY.replace("schedulerName: kpolicy", "schedulerName: batch"))
        started.send_signal(signal.SIGHUP)
        line = await log_line(started, "policy in force")
        assert line["generation"] == 2
        await until_placed(control_plane, "batch")


async def test_once_ends_by_itself(tmp_path: Path) -> None:
    async with ControlPlane() as control_plane:
        control_plane.add(node("n"), *(pod(f"p{number}") for number in range(10)))
        config = control_plane.write_kubeconfig(tmp_path / "kubeconfig")
        status, _ = await finished(
            "--kubeconfig", str(config), "--port", "0", "--no-leader-elect", "--once"
        )
        assert status == 0
        assert len(placed(control_plane)) == 10
