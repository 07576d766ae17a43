"""Only regular files are read, whatever a policy names, and none blocks the event loop."""

from __future__ import annotations

import asyncio
import os
import socket
import threading
from pathlib import Path

import pytest

from kpolicy import regular_files
from kpolicy.regular_files import off_loop, read_file


def test_a_regular_file_is_read_up_to_its_limit_and_one_byte(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"12345")
    (tmp_path / "link").symlink_to("file")
    assert read_file(tmp_path / "file", 100) == b"12345"
    assert read_file(tmp_path / "link", 3) == b"1234"


def test_devices_pipes_sockets_and_folders_are_refused_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to("/dev/ptmx")
    paths = [tmp_path / "pipe", tmp_path / "link", Path("/dev/ptmx"), Path("/dev/zero")]
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "socket"))
        for path in (*paths, tmp_path / "socket"):
            with pytest.raises(OSError, match="not a regular file"):
                read_file(path, 10)
    with pytest.raises(IsADirectoryError):
        read_file(tmp_path, 10)
    with pytest.raises(FileNotFoundError):
        read_file(tmp_path / "none", 10)


async def test_a_disk_that_hangs_blocks_neither_the_loop_nor_the_caller(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(regular_files, "READ_S_MAX", 0.05)
    answers = threading.Event()
    try:
        with pytest.raises(TimeoutError) as late:
            await off_loop(answers.wait)
        assert late.value.strerror == "not read within 0.05 s"
        await asyncio.sleep(0)
    finally:
        answers.set()
    assert await off_loop(lambda: 7) == 7
