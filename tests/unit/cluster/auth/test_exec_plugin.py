"""Credential plugins: what they receive, what they answer, and all their failures."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from kpolicy.cluster.auth.exec_plugin import Credential, ExecCommand, exec_command, run_exec
from kpolicy.cluster.auth.tls import CertificatePair
from kpolicy.cluster.connection_problem import ConnectionProblem
from tests.unit.cluster.doubles import eventually

V1 = "client.authentication.k8s.io/v1"


def plugin(folder: Path, script: str) -> str:
    path = folder / "plugin"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return str(path)


def spec(command: str, **more: Any) -> dict[str, Any]:
    return {"apiVersion": V1, "command": command, **more}


def running(pid: int) -> bool:
    try:
        return "State:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except FileNotFoundError:
        return False


def command_of(
    section: object, folder: Path = Path("/"), cluster: Mapping[str, object] | None = None
) -> ExecCommand:
    made = exec_command(section, folder, dict(os.environ), cluster or {}, b"PEM")
    assert isinstance(made, ExecCommand), made
    return made


def printing(folder: Path, status: dict[str, Any], version: str = V1) -> str:
    answer = {"apiVersion": version, "kind": "ExecCredential", "status": status}
    return plugin(folder, f"cat <<'END'\n{json.dumps(answer)}\nEND")


async def test_a_token_and_its_end_are_read(tmp_path: Path) -> None:
    status = {"token": "t", "expirationTimestamp": "2023-11-14T22:13:20Z"}
    answer = await run_exec(command_of(spec(printing(tmp_path, status))))
    assert answer == Credential("t", None, 1_700_000_000 * 10**9)


async def test_a_certificate_is_read(tmp_path: Path) -> None:
    status = {"clientCertificateData": "CERT", "clientKeyData": "KEY"}
    answer = await run_exec(command_of(spec(printing(tmp_path, status))))
    assert answer == Credential(None, CertificatePair(b"CERT", b"KEY"), None)


async def test_it_gets_arguments_variables_and_the_cluster_when_it_asks(tmp_path: Path) -> None:
    out = tmp_path / "seen"
    script = f'echo "$1 $V" > {out}; echo "$KUBERNETES_EXEC_INFO" >> {out}; exit 1'
    section = spec(
        plugin(tmp_path, script),
        args=["get"],
        env=[{"name": "V", "value": "v"}],
        provideClusterInfo=True,
    )
    await run_exec(
        command_of(section, cluster={"server": "https://s", "proxy-url": None, "odd": {1}})
    )
    first, info = out.read_text().splitlines()
    assert first == "get v"
    assert json.loads(info) == {
        "apiVersion": V1,
        "kind": "ExecCredential",
        "spec": {
            "interactive": False,
            "cluster": {"server": "https://s", "certificate-authority-data": "UEVN"},
        },
    }


async def test_a_command_beside_the_kubeconfig_is_found_by_its_relative_path(
    tmp_path: Path,
) -> None:
    printing(tmp_path, {"token": "t"})
    answer = await run_exec(command_of(spec("./plugin"), tmp_path))
    assert isinstance(answer, Credential)


async def test_a_missing_command_is_a_problem_with_the_owners_hint() -> None:
    wrong = await run_exec(command_of(spec("no-such-plugin", installHint="brew install it")))
    assert wrong == ConnectionProblem(
        "KPC110", "the credential plugin 'no-such-plugin' was not found", "brew install it"
    )


async def test_a_command_that_is_no_program_is_a_problem(tmp_path: Path) -> None:
    path = tmp_path / "plugin"
    path.write_bytes(b"\x00\x01 not a program")
    path.chmod(0o755)
    wrong = await run_exec(command_of(spec(str(path))))
    assert isinstance(wrong, ConnectionProblem)
    assert wrong.code == "KPC110"


@pytest.mark.parametrize(
    ("script", "words"),
    [
        ("echo please log in >&2; exit 3", "ended with status 3: please log in"),
        ("echo hello", "did not print an ExecCredential"),
        ("echo '[]'", "did not print an ExecCredential"),
        ("echo '{\"status\": 1}'", "did not print an ExecCredential"),
        ("head -c 3000000 /dev/zero", "did not print an ExecCredential"),
        (f'echo \'{{"apiVersion": "{V1}", "status": {{}}}}\'', "neither a token"),
        ('echo \'{"apiVersion": "v2", "status": {"token": "t"}}\'', "speaks 'v2'"),
        (
            f'echo \'{{"apiVersion": "{V1}", "status": {{"clientCertificateData": "C"}}}}\'',
            "neither a token",
        ),
    ],
)
async def test_a_plugin_that_gives_nothing_is_a_problem_of_one_line(
    script: str, words: str, tmp_path: Path
) -> None:
    wrong = await run_exec(command_of(spec(plugin(tmp_path, script))))
    assert isinstance(wrong, ConnectionProblem)
    assert wrong.code == "KPC111"
    assert words in wrong.message
    assert "\n" not in str(wrong)


async def test_a_plugin_that_does_not_end_is_ended(tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    script = f"sleep 60 & echo $! > {pid}; wait"
    wrong = await run_exec(command_of(spec(plugin(tmp_path, script))), timeout_s=0.3)
    assert isinstance(wrong, ConnectionProblem)
    assert "did not end within 0.3 s" in wrong.message
    await eventually(lambda: not running(int(pid.read_text())))


@pytest.mark.parametrize("section", [None, "x", [], {}, {"command": 1}, {"command": "x"}])
def test_a_malformed_section_is_a_problem(section: object) -> None:
    wrong = exec_command(section, Path("/"), {}, {}, None)
    assert isinstance(wrong, ConnectionProblem)
    assert wrong.code == "KPC103"
