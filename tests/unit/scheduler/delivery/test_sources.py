"""Policies from files: which files are read, and which changes are reported."""

from __future__ import annotations

import asyncio
import errno
from pathlib import Path

import pytest

from kpolicy import regular_files
from kpolicy.policy.yaml.source import Source
from kpolicy.scheduler import limits
from kpolicy.scheduler.delivery import sources
from kpolicy.scheduler.delivery.sources import FileSource, FixedSource, PolicyTexts, read_policies
from kpolicy.scheduler.problem_codes import Problem
from tests.manual_clock import ManualClock


def written(folder: Path, **files: str) -> Path:
    folder.mkdir(exist_ok=True)
    for name, text in files.items():
        (folder / f"{name}.yaml").write_text(text)
    return folder


def mounted(folder: Path, version: str, **files: str) -> None:
    """As kubelet mounts a ConfigMap: files are links through `..data`, which is swapped."""
    inside = written(folder / f"..{version}", **files)
    for name in files:
        link = folder / f"{name}.yaml"
        if not link.is_symlink():
            link.symlink_to(f"..data/{name}.yaml")
    swap = folder / "..data_tmp"
    swap.symlink_to(inside.name)
    swap.replace(folder / "..data")


def texts(*paths: Path) -> PolicyTexts:
    read = read_policies(paths)
    assert isinstance(read, PolicyTexts), read
    return read


def problem(*paths: Path) -> Problem:
    read = read_policies(paths)
    assert isinstance(read, Problem)
    assert read.exit_status == 2
    return read


def test_files_and_folders_are_read_in_order(tmp_path: Path) -> None:
    single = tmp_path / "z.yaml"
    single.write_text("z")
    folder = written(tmp_path / "folder", b="b", a="a")
    (folder / "scheduler.json").write_text("j")
    (folder / "policy.cfg").write_text("c")
    (folder / "README.md").write_text("no policy")
    (folder / ".hidden.yaml").write_text("no policy")
    written(folder / "team", t="t")
    read = texts(single, folder)
    named = [(Path(source.name).name, source.text, source.is_named) for source in read.sources]
    assert named == [
        ("z.yaml", b"z", True),
        ("a.yaml", b"a", False),
        ("b.yaml", b"b", False),
        ("policy.cfg", b"c", False),
        ("scheduler.json", b"j", False),
        ("t.yaml", b"t", False),
    ]


def test_a_mounted_configmap_is_read_once_and_under_its_own_names(tmp_path: Path) -> None:
    mounted(tmp_path, "1", policy="one")
    (source,) = texts(tmp_path).sources
    assert source == Source(str(tmp_path / "policy.yaml"), b"one", is_named=False)
    before = texts(tmp_path).digest
    mounted(tmp_path, "2", policy="two")
    assert texts(tmp_path).sources[0].text == b"two"
    assert texts(tmp_path).digest != before
    mounted(tmp_path, "3", policy="one")
    assert texts(tmp_path).digest == before, "the same content again is the same"


def test_a_set_of_files_is_never_half_old_and_half_new(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mounted(tmp_path, "1", a="old", b="old")
    opened = 0
    read_file = regular_files.read_file

    def opening(path: Path, bytes_max: int) -> bytes:
        nonlocal opened
        opened += 1
        if opened == 2:  # between the two files
            mounted(tmp_path, "2", a="new", b="new")
        return read_file(path, bytes_max)

    monkeypatch.setattr(sources, "read_file", opening)
    assert [source.text for source in texts(tmp_path).sources] == [b"new", b"new"]


def test_what_cannot_be_read_is_a_problem_in_words(tmp_path: Path) -> None:
    missing = problem(tmp_path / "nowhere.yaml")
    assert (missing.code, missing.hint) == ("KPS101", "check --policy")
    assert "there is no such file or folder" in missing.message
    assert "holds no policy" in problem(written(tmp_path / "empty")).message
    large = tmp_path / "large.yaml"
    large.write_bytes(b"#" * (limits.POLICY_FILE_BYTES_MAX + 1))
    assert "larger than 1048576 bytes" in problem(large).message
    many = tmp_path / "many"
    written(many, **{f"p{number}": "" for number in range(limits.POLICY_FILES_MAX + 1)})
    assert "more than the 256" in problem(many).message
    device = problem(Path("/dev/ptmx"))
    assert "cannot read policy /dev/ptmx: not a regular file" in device.message


def test_a_file_without_permission_is_a_problem(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refusing(path: Path, *_: object) -> bytes:
        raise PermissionError(errno.EACCES, "Permission denied", str(path))

    (tmp_path / "secret.yaml").write_text("x")
    monkeypatch.setattr(sources, "read_file", refusing)  # root may read everything
    assert "Permission denied" in problem(tmp_path / "secret.yaml").message


async def test_a_change_of_content_is_reported_and_a_touch_is_not(tmp_path: Path) -> None:
    clock = ManualClock(auto_jump=False)
    written(tmp_path, policy="one")
    source = FileSource([tmp_path], clock)
    await source.read()
    changed = asyncio.create_task(source.changed())
    await _pass(clock, 5, changed)
    assert not changed.done()
    (tmp_path / "policy.yaml").write_text("one")  # the same again
    await _pass(clock, 5, changed)
    assert not changed.done()
    (tmp_path / "policy.yaml").write_text("two")
    await _pass(clock, 5, changed)
    assert changed.done()
    read = await source.read()
    assert isinstance(read, tuple)
    assert read[0].text == b"two"


async def test_files_that_still_change_are_waited_for(tmp_path: Path) -> None:
    clock = ManualClock()
    written(tmp_path, policy="one")
    source = FileSource([tmp_path], clock)
    await source.read()
    changed = asyncio.create_task(source.changed())
    await _pass(clock, 0.25, changed)
    (tmp_path / "policy.yaml").write_text("half")
    await _pass(clock, 1, changed)
    assert not changed.done(), "looked at once, and waits for it to rest"
    (tmp_path / "policy.yaml").write_text("whole")
    await _pass(clock, 0.5, changed)
    assert not changed.done()
    await _pass(clock, 1, changed)
    assert changed.done()


async def test_a_folder_that_goes_away_is_reported_once(tmp_path: Path) -> None:
    clock = ManualClock()
    folder = written(tmp_path / "folder", policy="one")
    source = FileSource([folder], clock)
    await source.read()
    changed = asyncio.create_task(source.changed())
    (folder / "policy.yaml").unlink()
    await _pass(clock, 5, changed)
    assert changed.done()
    assert isinstance(await source.read(), Problem)
    again = asyncio.create_task(source.changed())
    await _pass(clock, 5, again)
    assert not again.done()
    written(folder, policy="one")
    await _pass(clock, 5, again)
    assert again.done()


async def test_fixed_policies_never_change() -> None:
    source = FixedSource([Source("a", "b")])
    assert await source.read() == (Source("a", "b"),)
    changed = asyncio.create_task(source.changed())
    await asyncio.sleep(0)
    assert not changed.done()
    changed.cancel()


async def _pass(clock: ManualClock, seconds: float, waiting: asyncio.Task[None]) -> None:
    """Time goes on in quarters of a second, and the reading threads keep up."""
    for _ in range(round(seconds * 4)):
        await clock.advance(0.25)
        for _ in range(2000):
            await asyncio.sleep(0)
            if clock.sleepers or waiting.done():
                break
            await asyncio.sleep(0.001)
