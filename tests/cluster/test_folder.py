"""The folder of a control plane: whose it is, and when it is removed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.cluster.errors import ControlPlaneError
from tests.cluster.folder import PREFIX, ROOM_MIN, Folder, check_room, remove_left_behind

ROOT = Path(__file__).parents[2]
KILLED = """
import os, signal, sys
from pathlib import Path
from tests.cluster.folder import Folder
folder = Folder(Path(sys.argv[1]))
os.kill(os.getpid(), signal.SIGKILL)
"""


def folder_below(parent: Path, name: str) -> Path:
    root = parent / f"{PREFIX}{name}"
    root.mkdir()
    return root


def test_only_folders_of_killed_processes_are_removed(tmp_path: Path) -> None:
    mine = Folder(folder_below(tmp_path, "mine"))
    kept = Folder(folder_below(tmp_path, "kept"))
    kept.give_up(keep=True)
    killed = folder_below(tmp_path, "killed")
    subprocess.run([sys.executable, "-c", KILLED, killed], cwd=ROOT, check=False)
    assert (killed / "etcd").is_dir()
    remove_left_behind(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == [f"{PREFIX}kept", f"{PREFIX}mine"]
    mine.give_up(keep=False)
    assert not mine.root.exists()


def test_a_full_disk_is_said_before_anything_is_started(tmp_path: Path) -> None:
    check_room(tmp_path, ROOM_MIN)
    with pytest.raises(ControlPlaneError, match=r"1023 MiB left.*set TMPDIR"):
        check_room(tmp_path, ROOM_MIN - 1)
