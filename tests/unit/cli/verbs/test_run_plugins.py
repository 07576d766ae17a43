"""`kpolicy run` with plugins: by flag, variable and file, and refused before anything starts."""

from __future__ import annotations

from pathlib import Path

import pytest

from kpolicy.testing import node, pod
from kpolicy.testing.control_plane import ControlPlane
from tests.unit.cli.verbs.test_run_process import finished, log_line, process, until_placed

MODULE = """
import time
from kpolicy.plugins import Handle, Pod, Refuse

class Gate:
    def __init__(self, handle: Handle) -> None: ...
    async def permit(self, pod: Pod, node: str) -> Refuse | None:
        return Refuse("it is closed") if pod.name == "closed" else None

class Sleeps:
    def __init__(self, handle: Handle) -> None:
        time.sleep(3600)
    async def post_bind(self, pod: Pod, node: str) -> None: ...

class Half:
    async def reserve(self, pod: Pod, node: str) -> None: ...
"""
CONFIGURATION = """
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
  - schedulerName: kpolicy
    plugins: {permit: {disabled: [{name: Gate}]}}
"""


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "gates.py").write_text(MODULE)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=":")
    return tmp_path


@pytest.mark.parametrize(
    ("plugin", "code"),
    [("gates:Half", "KPS209"), ("gates", "KPS208"), ("nowhere_at_all:Gate", "KPS208")],
)
async def test_what_is_no_plugin_is_refused_before_a_cluster_is_asked(
    path: Path, plugin: str, code: str
) -> None:
    status, lines = await finished("--kubeconfig=/nowhere", f"--plugin={plugin}")
    assert status == 2
    (line,) = lines
    assert line.startswith(f"kpolicy: {code}: --plugin={plugin}")


async def test_a_plugin_that_never_gets_made_ends_the_start(path: Path) -> None:
    async with ControlPlane() as control_plane:
        config = control_plane.write_kubeconfig(path / "kubeconfig")
        flags = ("--kubeconfig", str(config), "--port=0", "--no-leader-elect")
        plugin = ("--plugin=gates:Sleeps", "--plugin-timeout=0.3", "--log-level=error")
        status, lines = await finished(*flags, *plugin)
    assert status == 2
    # Log lines are written by a thread of their own.
    (line,) = (line for line in lines if not line.startswith("{"))
    assert line.startswith("kpolicy: KPS208: --plugin=gates:Sleeps: the plugin `Sleeps` ")


async def test_a_file_names_plugins_and_a_configuration_disables_one(path: Path) -> None:
    (path / "settings.yaml").write_text(
        "apiVersion: kpolicy.dev/v1alpha1\nkind: SchedulerConfiguration\nplugin: [gates:Gate]\n"
    )
    (path / "policy.yaml").write_text(CONFIGURATION)
    async with ControlPlane() as control_plane:
        control_plane.add(node("n1"), pod("closed"))
        config = control_plane.write_kubeconfig(path / "kubeconfig")
        flags = ("--kubeconfig", str(config), "--port=0", "--no-leader-elect", "--log-format=json")
        files = (f"--config={path}/settings.yaml", f"--policy={path}/policy.yaml")
        async with process(*flags, *files) as started:
            await log_line(started, "ready")
            await until_placed(control_plane, "closed")
        # Without the plugin, the configuration names one that is not there.
        status, lines = await finished(*flags, files[1])
        assert status == 1
        assert any("KP103" in line for line in lines)
