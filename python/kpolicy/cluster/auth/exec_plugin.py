"""Runs a credential plugin of a kubeconfig once (client.authentication.k8s.io).

Limits its time and output and checks what it prints. The kubeconfig's owner is trusted with the
choice of the command.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import json
import os
import shutil
import signal
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from kpolicy.cluster.auth.tls import CertificatePair
from kpolicy.cluster.connection_problem import ConnectionProblem, problem
from kpolicy.cluster.limits import EXEC_OUTPUT_BYTES_MAX, EXEC_TIMEOUT_S

_VERSIONS = (
    "client.authentication.k8s.io/v1",
    "client.authentication.k8s.io/v1beta1",
    "client.authentication.k8s.io/v1alpha1",
)


# what ExecCredential's spec.cluster may contain besides the certificate authority
_CLUSTER_KEYS = ("server", "tls-server-name", "insecure-skip-tls-verify", "proxy-url")


@dataclass(frozen=True, slots=True)
class Credential:
    """What a plugin returned: a token, a certificate or both, and when it expires (wall clock)."""

    token: str | None
    certificate: CertificatePair | None
    ends_ns: int | None


@dataclass(frozen=True, slots=True)
class ExecCommand:
    command: str
    arguments: tuple[str, ...]
    environment: Mapping[str, str]
    api_version: str
    install_hint: str = ""
    cluster: Mapping[str, object] = field(
        default_factory=dict
    )  # empty unless provideClusterInfo is set


def exec_command(
    spec: object,
    folder: Path,
    environ: Mapping[str, str],
    cluster: Mapping[str, object],
    authority: bytes | None,
) -> ExecCommand | ConnectionProblem:
    """Check the `exec` section of a user. `cluster` and `authority` are for plugins that ask for
    them."""
    if not isinstance(spec, Mapping) or not isinstance(spec.get("command"), str):
        return problem("KPC103", "the user's exec section names no command")
    version = spec.get("apiVersion")
    if version not in _VERSIONS:
        return problem(
            "KPC103",
            f"the exec plugin's apiVersion {version!r} is not known",
            f"use {_VERSIONS[0]}",
        )
    command = str(spec["command"])
    if "/" in command and not Path(command).is_absolute():
        command = str(folder / command)
    variables = {
        str(entry["name"]): str(entry["value"])
        for entry in spec.get("env") or ()
        if isinstance(entry, Mapping) and {"name", "value"} <= entry.keys()
    }
    return ExecCommand(
        command=command,
        arguments=tuple(str(argument) for argument in spec.get("args") or ()),
        environment={**environ, **variables},
        api_version=str(version),
        install_hint=str(spec.get("installHint") or ""),
        cluster=_cluster_info(cluster, authority) if spec.get("provideClusterInfo") else {},
    )


def _cluster_info(cluster: Mapping[str, object], authority: bytes | None) -> Mapping[str, object]:
    info = {key: cluster[key] for key in _CLUSTER_KEYS if isinstance(cluster.get(key), str | bool)}
    if authority is not None:
        info["certificate-authority-data"] = base64.b64encode(authority).decode()
    return info


async def run_exec(
    command: ExecCommand, timeout_s: float = EXEC_TIMEOUT_S
) -> Credential | ConnectionProblem:
    """Run the plugin once, without a terminal, since nobody could answer its questions."""
    if shutil.which(command.command, path=command.environment.get("PATH")) is None:
        return problem(
            "KPC110",
            f"the credential plugin {command.command!r} was not found",
            command.install_hint or "install it, or put its folder on PATH",
        )
    info = {
        "apiVersion": command.api_version,
        "kind": "ExecCredential",
        "spec": {"interactive": False} | ({"cluster": command.cluster} if command.cluster else {}),
    }
    environment = {**command.environment, "KUBERNETES_EXEC_INFO": json.dumps(info)}
    try:
        process = await asyncio.create_subprocess_exec(
            command.command,
            *command.arguments,
            env=environment,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            start_new_session=True,  # no terminal to prompt on; killed as a group
        )
    except OSError as error:
        return problem(
            "KPC110",
            f"the credential plugin {command.command!r} cannot be run: {error.strerror}",
            command.install_hint,
        )
    try:
        async with asyncio.timeout(timeout_s), asyncio.TaskGroup() as group:
            output = group.create_task(_read(process.stdout))
            complaint = group.create_task(_read(process.stderr))
            status = await process.wait()
    except TimeoutError:
        return problem(
            "KPC111",
            f"the credential plugin {command.command!r} did not end within {timeout_s:g} s",
            "run it by hand; it may be waiting for input",
        )
    finally:
        if process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            await process.wait()
    if status != 0:
        return problem(
            "KPC111",
            f"the credential plugin {command.command!r} ended with status {status}:"
            f" {complaint.result().decode('utf-8', 'replace')}",
            "run it by hand, or log in again with the tool it belongs to",
        )
    return credential_of(output.result(), command)


async def _read(stream: asyncio.StreamReader | None) -> bytes:
    """Read up to the limit. The rest is read and dropped, or else the plugin would never end."""
    if stream is None:
        return b""
    kept = bytearray()
    while chunk := await stream.read(64 * 1024):
        kept += chunk[: EXEC_OUTPUT_BYTES_MAX - len(kept)]
    return bytes(kept)


def credential_of(output: bytes, command: ExecCommand) -> Credential | ConnectionProblem:
    """Read an ExecCredential."""
    try:
        answer = json.loads(output)
        status = answer["status"]
        token = status.get("token")
        certificate, key = status.get("clientCertificateData"), status.get("clientKeyData")
        ends = status.get("expirationTimestamp")
        ends_ns = round(datetime.fromisoformat(ends).timestamp() * 1e9) if ends else None
    except (
        ValueError,
        KeyError,
        TypeError,
        AttributeError,
        RecursionError,
        OverflowError,
    ) as error:
        return problem(
            "KPC111",
            f"the credential plugin {command.command!r} did not print an ExecCredential:"
            f" {type(error).__name__}: {error}",
        )
    if answer.get("apiVersion") != command.api_version:
        return problem(
            "KPC111",
            f"the credential plugin {command.command!r} speaks {answer.get('apiVersion')!r},"
            f" the kubeconfig asks for {command.api_version!r}",
        )
    pair = (
        CertificatePair(certificate.encode(), key.encode())
        if isinstance(certificate, str) and isinstance(key, str)
        else None
    )
    if pair is None and not (isinstance(token, str) and token):
        return problem(
            "KPC111",
            f"the credential plugin {command.command!r} gave neither a token nor a certificate"
            " with its key",
        )
    return Credential(token if isinstance(token, str) and token else None, pair, ends_ns)
