"""Policy files and folders, read as one consistent set.

Owns which files of a folder are read, and the dance with the `..data` link of a mounted
ConfigMap: kubelet writes a new folder and swaps the link, so that files are read through the
resolved folder and the link is looked at again afterwards. What is wrong is a value. Must not know
what is in the files.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from kpolicy.policy.yaml.source import Source
from kpolicy.scheduler import limits
from kpolicy.scheduler.problem import POLICY_UNREADABLE, Problem

_SUFFIXES = frozenset({".yaml", ".yml", ".json", ".cfg"})
_DATA_LINK = "..data"


@dataclass(frozen=True, slots=True)
class PolicyTexts:
    """`digest` is of names and contents: two folders with the same files are the same."""

    sources: tuple[Source, ...]
    digest: str


def read_policies(paths: Sequence[Path]) -> PolicyTexts | Problem:
    """All policies of these paths, or why one could not be read."""
    for _ in range(limits.POLICY_READ_TRIES_MAX):
        links = [_link(path) for path in paths]
        read = _read_once(paths)
        if links == [_link(path) for path in paths]:
            return read
    return _problem(str(paths[0]), "the files kept changing while they were read", "")


def never_updates(path: Path) -> bool:
    """A single file mounted into a pod (`subPath`) keeps its first content for ever."""
    return path.is_file() and os.path.ismount(path) and not (path.parent / _DATA_LINK).exists()


def _read_once(paths: Sequence[Path]) -> PolicyTexts | Problem:
    files: list[_File] = []
    for path in paths:
        found = _files_of(path)
        if isinstance(found, Problem):
            return found
        files += found
    if len(files) > limits.POLICY_FILES_MAX:
        text = f"{len(files)} policy files are more than the {limits.POLICY_FILES_MAX} allowed"
        return _problem(str(paths[0]), text, "name the files that are meant")
    digest = hashlib.sha256()
    sources = []
    for file in files:
        content = _content(file)
        if isinstance(content, Problem):
            return content
        sources.append(Source(file.name, content, file.is_named))
        for part in (file.name.encode("utf-8", "surrogateescape"), content):
            digest.update(len(part).to_bytes(8, "big") + part)
    return PolicyTexts(tuple(sources), digest.hexdigest())


@dataclass(frozen=True, slots=True)
class _File:
    """`name` is printed, `path` is read. `is_named`: by the user, and not found in a folder."""

    name: str
    path: Path
    is_named: bool


def _files_of(path: Path) -> list[_File] | Problem:
    """In the order of names. Names that begin with a dot are a volume's own, or hidden."""
    try:
        if not path.is_dir():
            return [_File(str(path), path, is_named=True)]
        folder = path / _DATA_LINK
        inside = folder.resolve() if folder.is_symlink() else path
        found = (file.relative_to(inside) for file in inside.rglob("*") if file.is_file())
        names = sorted(
            name
            for name in found
            if name.suffix in _SUFFIXES and not any(part.startswith(".") for part in name.parts)
        )
    except OSError as error:
        return _unreadable(str(path), error)
    if not names:
        text = "the folder holds no policy (.yaml, .yml, .json or .cfg)"
        return _problem(str(path), text, "check --policy")
    return [_File(str(path / name), inside / name, is_named=False) for name in names]


def _content(file: _File) -> bytes | Problem:
    try:
        with file.path.open("rb") as opened:
            content = opened.read(limits.POLICY_FILE_BYTES_MAX + 1)
    except OSError as error:
        return _unreadable(file.name, error)
    if len(content) > limits.POLICY_FILE_BYTES_MAX:
        text = f"larger than {limits.POLICY_FILE_BYTES_MAX} bytes"
        return _problem(file.name, text, "a ConfigMap could not hold it either; split it")
    return content


def _link(path: Path) -> str:
    """What the link of a mounted ConfigMap points to; empty elsewhere."""
    try:
        return str((path / _DATA_LINK).readlink())
    except OSError:
        return ""


def _unreadable(name: str, error: OSError) -> Problem:
    if isinstance(error, FileNotFoundError):
        return _problem(name, "there is no such file or folder", "check --policy")
    return _problem(name, error.strerror or str(error), "check the file's permissions")


def _problem(name: str, text: str, hint: str) -> Problem:
    return Problem(POLICY_UNREADABLE, f"cannot read policy {name}: {text}", hint)
