"""Why kubeconfigs are read in part by our own code: what `kubernetes.aio.config` 37 does not do.

Each test holds one reason that docs/dependencies.md names. Where one fails after an update of the
package, the package has learned it, and our own code for it can go.
"""

from __future__ import annotations

import asyncio
import base64
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from kubernetes.aio import client as package_client, config as package

from kpolicy.cluster.auth.exec_plugin import Credential, ExecCommand, run_exec

V1 = "client.authentication.k8s.io/v1"
CREDENTIAL = {"apiVersion": V1, "kind": "ExecCredential", "status": {"token": "t0ken"}}
IMPORT_MIB_MIN = 10


async def loaded(user: dict[str, Any], folder: Path) -> Any:
    """The configuration that the package makes of a kubeconfig with this user."""
    path = folder / "config"
    document = {
        "current-context": "c",
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
        "clusters": [{"name": "c", "cluster": {"server": "https://127.0.0.1:1"}}],
        "users": [{"name": "u", "user": user}],
    }
    path.write_text(yaml.safe_dump(document))
    configuration = package_client.Configuration()
    load: Any = package.load_kube_config
    await load(str(path), client_configuration=configuration)
    return configuration


def plugin(folder: Path, script: str) -> str:
    path = folder / "plugin"
    path.write_text(f"#!{sys.executable}\nimport sys\n{script}\n")
    path.chmod(0o755)
    return str(path)


async def test_a_plugin_that_fails_is_a_line_in_the_log_and_no_error(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    spec = {"apiVersion": V1, "command": plugin(tmp_path, "sys.exit('log in first')")}
    configuration = await loaded({"exec": spec}, tmp_path)
    assert configuration.api_key == {}
    assert "log in first" in caplog.text


async def test_a_plugin_that_complains_at_length_is_waited_for_without_end(tmp_path: Path) -> None:
    script = f"sys.stderr.write('x' * 1_000_000)\nprint({json.dumps(CREDENTIAL)!r})"
    command = plugin(tmp_path, script)
    waiting = f"""
import asyncio, os
from kubernetes.aio.config.exec_provider import ExecProvider
from kubernetes.aio.config.kube_config import ConfigNode
spec = ConfigNode("exec", {{"apiVersion": {V1!r}, "command": {command!r}}})
async def run():
    try:
        async with asyncio.timeout(2):
            await ExecProvider(spec).run()
    except TimeoutError:
        print("timed out", flush=True)
    os._exit(0)
asyncio.run(run())
"""
    run = [sys.executable, "-c", waiting]
    theirs = await asyncio.to_thread(subprocess.run, run, capture_output=True, check=True)
    assert theirs.stdout == b"timed out\n"
    ours = await run_exec(ExecCommand(command, (), {"PATH": "/usr/bin:/bin"}, V1))
    assert isinstance(ours, Credential)


async def test_impersonation_is_not_sent(tmp_path: Path) -> None:
    configuration = await loaded({"token": "t", "as": "auditor", "as-groups": ["g"]}, tmp_path)
    headers = package_client.ApiClient(configuration).default_headers
    assert [name for name in headers if name.lower().startswith("impersonate")] == []


async def test_a_key_inside_the_kubeconfig_is_written_to_a_file(tmp_path: Path) -> None:
    key = b"-----BEGIN PRIVATE KEY-----"
    data = base64.b64encode(key).decode()
    user = {"client-certificate-data": data, "client-key-data": data}
    configuration = await loaded(user, tmp_path)
    written = await asyncio.to_thread(Path(configuration.key_file).read_bytes)
    assert written == key


async def test_a_token_file_is_read_once(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("old")
    configuration = await loaded({"tokenFile": str(file)}, tmp_path)
    file.write_text("new")
    assert await configuration.get_api_key_with_prefix("BearerToken") == "Bearer old"


def test_it_is_heavy_to_import() -> None:
    """In a pod two variables and two files are all there is to read."""
    script = """
import aiohttp, yaml
def resident():
    return int(open("/proc/self/statm").read().split()[1]) * 4096
before = resident()
import kubernetes.aio.config
print((resident() - before) >> 20)
"""
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True, text=True)
    assert int(run.stdout) > IMPORT_MIB_MIN


def test_neither_a_compiled_policy_nor_a_pod_of_a_cluster_loads_it(tmp_path: Path) -> None:
    for name in ("token", "ca.crt"):
        (tmp_path / name).write_text("not a certificate")
    script = f"""
import asyncio, pathlib, sys
import kpolicy
from kpolicy.clock import SystemClock
from kpolicy.cluster.auth.load_connection import load_connection
kpolicy.compile_policy([])
environ = {{"KUBERNETES_SERVICE_HOST": "10.0.0.1"}}
found = load_connection(environ, SystemClock(), service_account=pathlib.Path({str(tmp_path)!r}))
print(asyncio.run(found).code, "kubernetes" in sys.modules)
"""
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True, text=True)
    assert run.stdout.split() == ["KPC107", "False"]
