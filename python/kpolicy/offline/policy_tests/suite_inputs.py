"""The policies and snapshots that a suite names, read from beside its file.

A policy is a path from the folder of that file, or the name of a shipped policy. What cannot be
read is a diagnostic.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path as File
from typing import Final

from kpolicy.diagnostics import Diagnostic
from kpolicy.offline.input_files import POLICY_SUFFIXES, files_in, read_source
from kpolicy.offline.policy_tests.suites import Suite
from kpolicy.offline.snapshots.cluster_snapshot import Snapshot
from kpolicy.policy.compile import shipped_names, shipped_source
from kpolicy.policy.nearest import did_you_mean
from kpolicy.policy.yaml.nodes import Path
from kpolicy.policy.yaml.source import Source

TEST_SUFFIXES: Final = (".test.yaml", ".test.yml")


@dataclass(frozen=True, slots=True)
class Inputs:
    """All inputs of a suite. `files` are those that were read, so that `--watch` can watch them."""

    policies: tuple[Source, ...] = ()
    snapshot: Snapshot | None = None
    # Snapshots of replays, by the name that the replay uses.
    replayed: Mapping[str, Snapshot] = field(default_factory=dict)
    # Policies of other suites. They may declare params that these policies do not have.
    others: tuple[Source, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()
    files: tuple[str, ...] = ()


def load_inputs(suite: Suite, policies: Sequence[Source] | None = None) -> Inputs:
    """`policies` replace those that the suite names."""
    reading = _Reading(suite)
    if policies is None:
        names = enumerate(suite.model.policies)
        policies = [source for index, name in names for source in reading.policy(index, name)]
    wanted = suite.model.snapshot
    snapshot = None
    if wanted is not None:
        names_of_snapshot = [wanted] if isinstance(wanted, str) else wanted
        snapshot = reading.snapshot(names_of_snapshot, ("snapshot",))
    replayed: dict[str, Snapshot] = {}
    for index, test in enumerate(suite.model.tests):
        name = test.replay.snapshot if test.replay is not None else None
        if name is None or name in replayed:
            continue
        # A replay may call the document's own snapshot by its path or its bare name.
        is_own = isinstance(wanted, str) and name in (wanted, File(wanted).name.partition(".")[0])
        if is_own and snapshot is not None:
            replayed[name] = snapshot
        else:
            replayed[name] = reading.snapshot([name], ("tests", index, "replay", "snapshot"))
    return Inputs(
        tuple(policies),
        snapshot,
        replayed,
        diagnostics=tuple(reading.diagnostics),
        files=tuple(reading.files),
    )


@dataclass(slots=True)
class _Reading:
    suite: Suite
    diagnostics: list[Diagnostic] = field(default_factory=list)
    files: list[str] = field(default_factory=list)

    def policy(self, index: int, name: str) -> list[Source]:
        path = File(self.suite.file).parent / name
        if path.is_dir():
            files = [
                file
                for file in files_in(path, POLICY_SUFFIXES)
                if not file.name.endswith(TEST_SUFFIXES)
            ]
            self.files += map(str, files)
            return [read_source(file, is_named=False) for file in files]
        if path.is_file():
            self.files.append(str(path))
            return [read_source(path)]
        if name in shipped_names():
            return [shipped_source(name)]
        near = [file.name for file in path.parent.glob("*.yaml")] if path.parent.is_dir() else []
        hint = did_you_mean(name, [*near, *shipped_names()])
        message = f"there is no policy `{name}` beside this file, and none of that name is shipped"
        self.diagnostics.append(self.suite.remark("KP501", message, ("policies", index), hint=hint))
        return []

    def snapshot(self, names: Sequence[str], at: Path) -> Snapshot:
        paths = [str(File(self.suite.file).parent / name) for name in names]
        self.files += paths
        snapshot = Snapshot.load(paths)
        for problem in snapshot.problems:
            if problem.is_of_whole_source:
                message = f"the snapshot cannot be used: {problem}"
                self.diagnostics.append(self.suite.remark("KP501", message, at))
        return snapshot
