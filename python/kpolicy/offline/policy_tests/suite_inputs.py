"""What a suite refers to: policies and snapshots, read from beside it.

Owns the search: a path from the file's own folder, then the name of a policy that comes with
kpolicy. Assumes files of a user. What is not there is a diagnostic. Must not run tests.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path as File
from pathlib import PurePath

from kpolicy.diagnostics import Diagnostic
from kpolicy.offline.policy_tests.suites import Suite
from kpolicy.offline.snapshots.snapshot import Snapshot
from kpolicy.policy.library import shipped_names, shipped_source
from kpolicy.policy.limits import DOCUMENT_BYTES_MAX
from kpolicy.policy.nearest import did_you_mean
from kpolicy.policy.yaml.nodes import Path
from kpolicy.policy.yaml.source import Source

_POLICY_SUFFIXES = (".yaml", ".yml", ".json", ".cfg")
TEST_SUFFIXES = (".test.yaml", ".test.yml")


@dataclass(frozen=True, slots=True)
class Inputs:
    """`files` are all that was read, for whoever watches them."""

    policies: tuple[Source, ...] = ()
    snapshot: Snapshot | None = None
    # Of replays with one of their own, by what they call it.
    replayed: Mapping[str, Snapshot] = field(default_factory=dict)
    # Policies of other suites, which may declare params that these do not have.
    others: tuple[Source, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()
    files: tuple[str, ...] = ()


@dataclass(slots=True)
class _Reading:
    said: list[Diagnostic] = field(default_factory=list)
    files: list[str] = field(default_factory=list)


def load_inputs(suite: Suite, policies: Sequence[Source] | None = None) -> Inputs:
    """`policies` come instead of those that the suite names."""
    reading = _Reading()
    chosen = list(policies) if policies is not None else []
    if policies is None:
        for index, name in enumerate(suite.model.policies):
            chosen += _policy(suite, index, name, reading)
    snapshot = _snapshot(suite, reading)
    replayed = _replayed(suite, snapshot, reading)
    return Inputs(
        tuple(chosen),
        snapshot,
        replayed,
        diagnostics=tuple(reading.said),
        files=tuple(reading.files),
    )


def beside(suite: Suite, name: str) -> File:
    return File(suite.file).parent / name


def _policy(suite: Suite, index: int, name: str, reading: _Reading) -> Iterator[Source]:
    path = beside(suite, name)
    if path.is_dir():
        files = sorted(one for one in path.rglob("*") if is_policy_file(one, path))
        for file in files:
            reading.files.append(str(file))
            yield Source(str(file), _read(file), is_named=False)
    elif path.is_file():
        reading.files.append(str(path))
        yield Source(str(path), _read(path))
    elif name in shipped_names():
        yield shipped_source(name)
    else:
        near = [one.name for one in path.parent.glob("*.yaml")] if path.parent.is_dir() else []
        hint = did_you_mean(name, [*near, *shipped_names()])
        message = f"there is no policy `{name}` beside this file, and none of that name is shipped"
        reading.said.append(suite.remark("KP501", message, ("policies", index), hint=hint))


def is_policy_file(path: File, folder: File) -> bool:
    """Of a folder: no tests, and nothing hidden."""
    return (
        path.suffix in _POLICY_SUFFIXES
        and not path.name.endswith(TEST_SUFFIXES)
        and not any(part.startswith(".") for part in path.relative_to(folder).parts)
        and path.is_file()
    )


def _read(path: File) -> bytes:
    with path.open("rb") as file:
        return file.read(DOCUMENT_BYTES_MAX + 1)


def _snapshot(suite: Suite, reading: _Reading) -> Snapshot | None:
    wanted = suite.model.snapshot
    if wanted is None:
        return None
    return _read_snapshot(
        suite, [wanted] if isinstance(wanted, str) else wanted, ("snapshot",), reading
    )


def _replayed(suite: Suite, own: Snapshot | None, reading: _Reading) -> dict[str, Snapshot]:
    found: dict[str, Snapshot] = {}
    wanted = suite.model.snapshot
    for index, test in enumerate(suite.model.tests):
        name = test.replay.snapshot if test.replay is not None else None
        if name is None or name in found:
            continue
        at: Path = ("tests", index, "replay", "snapshot")
        is_own = isinstance(wanted, str) and name in (
            wanted,
            PurePath(wanted).name.partition(".")[0],
        )
        if is_own and own is not None:
            found[name] = own
        else:
            found[name] = _read_snapshot(suite, [name], at, reading)
    return found


def _read_snapshot(suite: Suite, names: Sequence[str], at: Path, reading: _Reading) -> Snapshot:
    paths = [str(beside(suite, name)) for name in names]
    reading.files += paths
    snapshot = Snapshot.load(paths)
    for problem in snapshot.problems:
        if problem.is_of_whole_source:
            message = f"the snapshot cannot be used: {problem}"
            reading.said.append(suite.remark("KP501", message, at))
    return snapshot
