"""Two replicas of different versions, as while a Deployment rolls out or back: every pod is bound
once, and a policy that is for the newer one alone is refused by the older one.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import Final

import pytest

import kpolicy
from kpolicy.version import VERSION
from tests.cluster.client import wait_for
from tests.cluster.control_plane import ControlPlane
from tests.cluster.users import NORMAL
from tests.e2e.nemeses.conftest import POLICY
from tests.e2e.nemeses.test_replicas import PODS, bound_once, burst, leads
from tests.e2e.scenarios.conftest import play
from tests.e2e.scheduler_process import KPOLICY, SchedulerProcess

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(180)]

NEXT: Final = "99.0.0"
REFUSED: Final = f"made for kpolicy {NEXT} and later"


@pytest.fixture(scope="module")
def newer(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The environment in which `kpolicy` is of the next version."""
    folder = tmp_path_factory.mktemp("newer")
    (ours,) = kpolicy.__path__
    package = folder / "kpolicy"
    shutil.copytree(ours, package, ignore=shutil.ignore_patterns("*.so", "__pycache__"))
    for library in Path(ours).glob("*.so"):
        (package / library.name).symlink_to(library)
    version = package / "version.py"
    version.write_text(version.read_text("utf-8").replace(VERSION, NEXT), "utf-8")
    environment = {"PYTHONPATH": str(folder)}
    shown = subprocess.run(
        [KPOLICY, "version"],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, **environment},
    )
    assert NEXT in shown.stdout
    return environment


def test_n_the_newer_takes_over_and_the_older_takes_over_again(
    plane: ControlPlane, lease: str, newer: dict[str, str], tmp_path: Path
) -> None:
    kubeconfig = plane.kubeconfig(NORMAL)
    old = SchedulerProcess(kubeconfig, POLICY, tmp_path / "old", (lease,))
    new = SchedulerProcess(kubeconfig, POLICY, tmp_path / "new", (lease,), environment=newer)
    with old:
        wait_for(lambda: leads(old), "the older to lead", timeout_s=60)
        for stage in play(plane, old, "upgraded"):
            stage.node("only")
            burst(stage, "before")
            with new:
                assert old.terminate() == 0, old.tail()
                burst(stage, "between")
                wait_for(lambda: leads(new), "the newer to lead", timeout_s=60)
                burst(stage, "newer")
                old.start()
                old.wait_ready()
                assert new.terminate() == 0, new.tail()
            burst(stage, "after")
            wait_for(lambda: leads(old), "the older to lead again", timeout_s=60)
            bound_once(stage, 4 * PODS)


def test_n_a_policy_for_the_newer_is_refused_by_the_older_which_keeps_its_own(
    plane: ControlPlane, lease: str, newer: dict[str, str], tmp_path: Path
) -> None:
    """`minEngine` says which version a policy needs."""
    policy = tmp_path / "policy.yaml"
    policy.write_bytes(POLICY.read_bytes())
    kubeconfig = plane.kubeconfig(NORMAL)
    with SchedulerProcess(kubeconfig, policy, tmp_path / "old", (lease,)) as old:
        text = policy.read_text("utf-8")
        assert text.count("\nspec:\n") == 1
        for stage in play(plane, old, "kept"):
            stage.node("only")
            policy.write_text(text.replace("\nspec:\n", f"\nspec:\n  minEngine: {NEXT}\n"), "utf-8")
            old.hang_up()
            wait_for(lambda: REFUSED in old.log(), "the older to refuse it")
            stage.pod("as-before")
            stage.bound("as-before", "only")
    with SchedulerProcess(kubeconfig, policy, tmp_path / "new", (lease,), environment=newer) as new:
        wait_for(lambda: leads(new), "the newer to lead by it", timeout_s=60)
