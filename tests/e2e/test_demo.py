"""`kpolicy demo`, as a newcomer runs it, and `--keep`, looked at with the real kubectl."""

from __future__ import annotations

import os
import re
import signal
import subprocess
from pathlib import Path

import pytest

from tests.cluster.build import ControlPlaneBinary
from tests.cluster.client import wait_for
from tests.e2e.scheduler_process import KPOLICY

pytestmark = pytest.mark.slow

SMALL = ("--nodes", "20", "--pods", "100")
ENDS_WITHIN_S = 60
# Generous: a busy machine must not fail the test, only a demo that never stops.
STOPS_WITHIN_S = 40


def test_it_ends_by_itself_and_says_what_became_of_the_pods() -> None:
    done = subprocess.run(
        [KPOLICY, "demo", *SMALL],
        capture_output=True,
        text=True,
        timeout=ENDS_WITHIN_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert "policy demo.yaml is in force" in done.stdout
    assert "demo-reloaded.yaml took its place" in done.stdout
    placed, pending = re.findall(r"^(?:placed|pending)\s+(\d+) pods", done.stdout, re.MULTILINE)
    assert (int(placed), int(pending)) == (98, 2)
    assert re.search(r"^demo/critical-\d+: on (fast|general)-\d+;", done.stdout, re.MULTILINE)
    assert re.search(r"^demo/giant-\d+: pending$", done.stdout, re.MULTILINE)
    assert "critical pods stay off spot nodes (critical-off-spot)" in done.stdout
    assert re.search(r"^ +node +total .*  prefer-ssd$", done.stdout, re.MULTILINE)
    assert re.search(r"^ +fast-\d+ .*  100 → 100  selected$", done.stdout, re.MULTILINE)


@pytest.mark.parametrize(("color", "is_painted"), [("always", True), ("never", False)])
def test_its_colours_are_as_the_flag_says(color: str, is_painted: bool) -> None:
    done = subprocess.run(
        [KPOLICY, "demo", "--nodes", "20", "--pods", "20", "--color", color],
        capture_output=True,
        text=True,
        timeout=ENDS_WITHIN_S,
        check=False,
        # As on a terminal, where rich paints unless it is told not to.
        env={**os.environ, "FORCE_COLOR": "" if is_painted else "1"},
    )
    assert done.returncode == 0, done.stderr
    painted = r"\x1b\[" if is_painted else r"\x1b\[[0-9;]*3[0-9]m"
    assert bool(re.search(painted, done.stdout)) is is_painted


def test_fifty_pods_are_enough_and_it_says_which_policy_judges() -> None:
    done = subprocess.run(
        [KPOLICY, "demo", "--nodes", "20", "--pods", "50"],
        capture_output=True,
        text=True,
        timeout=ENDS_WITHIN_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    placed, pending = re.findall(r"^(?:placed|pending)\s+(\d+) pods", done.stdout, re.MULTILINE)
    assert (int(placed), int(pending)) == (48, 2)
    (changed,) = re.findall(r"demo-reloaded.yaml took its place \((\S+)\)", done.stdout)
    assert f"judged by policy demo-reloaded.yaml ({changed}):" in done.stdout


def test_each_good_edit_is_reported(tmp_path: Path) -> None:
    output, kept = tmp_path / "output", tmp_path / "kept"
    kept.mkdir()
    command = (KPOLICY, "demo", *SMALL, "--keep")
    with output.open("w") as stream:
        demo = subprocess.Popen(
            command,
            stdout=stream,
            stderr=subprocess.STDOUT,
            env={**os.environ, "TMPDIR": str(kept)},
        )
    try:
        wait_for(lambda: "ctrl-C ends it" in output.read_text(), "the demo to stay", timeout_s=60)
        (policy,) = kept.glob("*/policy.yaml")
        good = policy.read_text()
        for edit, weight in ((1, 7), (2, 8)):
            policy.write_text(re.sub(r"weight: \d+", f"weight: {weight}", good))
            wait_for(
                lambda edit=edit: (
                    f"edit {edit} of policy.yaml is in force (sha256:"  # type: ignore[misc]
                    in output.read_text()
                ),
                f"edit {edit} to be reported",
            )
        demo.send_signal(signal.SIGINT)
        assert demo.wait(timeout=STOPS_WITHIN_S) == 0
    finally:
        demo.kill()
        demo.wait()


@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGTERM])
def test_it_ends_on_a_signal_also_in_the_background(tmp_path: Path, ending: signal.Signals) -> None:
    """Where SIGINT was ignored before it began, as a shell does for what runs behind it."""
    output, kept = tmp_path / "output", tmp_path / "kept"
    kept.mkdir()
    script = 'trap "" INT; exec "$@"'
    folders = {**os.environ, "TMPDIR": str(kept)}
    command = ("bash", "-c", script, "bash", str(KPOLICY), "demo", *SMALL, "--keep")
    with output.open("w") as stream:
        demo = subprocess.Popen(command, stdout=stream, stderr=subprocess.STDOUT, env=folders)
    try:
        wait_for(lambda: "ctrl-C ends it" in output.read_text(), "the demo to stay", timeout_s=60)
        assert list(kept.iterdir())
        demo.send_signal(ending)
        assert demo.wait(timeout=STOPS_WITHIN_S) == 0
    finally:
        demo.kill()
        demo.wait()
    assert list(kept.iterdir()) == []


@pytest.mark.cluster
def test_kubectl_reads_what_it_keeps(
    tmp_path: Path, control_plane_binary: ControlPlaneBinary
) -> None:
    kubeconfig, output = tmp_path / "kubeconfig", tmp_path / "output"
    command = (str(KPOLICY), "demo", *SMALL, "--keep", f"--kubeconfig={kubeconfig}")

    def kubectl(*arguments: str) -> str:
        return subprocess.run(
            [control_plane_binary.path, "kubectl", f"--kubeconfig={kubeconfig}", *arguments],
            capture_output=True,
            text=True,
            timeout=30,
            check=True,
        ).stdout

    with output.open("w") as stream:
        demo = subprocess.Popen(command, stdout=stream, stderr=subprocess.STDOUT)
    try:
        wait_for(lambda: "ctrl-C ends it" in output.read_text(), "the demo to stay", timeout_s=60)
        assert f"export KUBECONFIG={kubeconfig}" in output.read_text()
        listing = ("get", "pods", "--namespace", "demo", "-o", "wide")
        # The kubelet stand-in takes its time to start a container, as the real one does.
        wait_for(lambda: kubectl(*listing).count(" Running ") == 98, "the placed pods to run")
        header, *pods = kubectl(*listing).splitlines()
        assert header.split()[:4] == ["NAME", "READY", "STATUS", "RESTARTS"]
        assert len(pods) == 100
        assert len(kubectl("get", "nodes").splitlines()) == 21
        described = kubectl("describe", "pod", "giant-0000", "--namespace", "demo")
        assert "FailedScheduling" in described
        assert "Insufficient cpu" in described
        demo.send_signal(signal.SIGINT)
        assert demo.wait(timeout=STOPS_WITHIN_S) == 0
    finally:
        demo.kill()
        demo.wait()
