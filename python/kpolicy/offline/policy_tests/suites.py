"""PolicyTest documents read from sources, and what is wrong with a document.

It can be wrong by itself, or name rules that its profile does not have (KP501).
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from pathlib import Path as File
from typing import Final

from kpolicy.diagnostics import Diagnostic, Note, Place, Span, did_you_mean, has_errors
from kpolicy.offline.policy_files import POLICY_SUFFIXES, files_in, read_source
from kpolicy.offline.policy_tests.document_model import (
    KIND,
    OF_REPLAYS,
    OF_SEQUENCES,
    Expectation,
    PolicyTest,
    Rejection,
    Step,
    Test,
)
from kpolicy.offline.policy_tests.expectations import RuleNames
from kpolicy.offline.policy_tests.replay import compile_never
from kpolicy.offline.snapshots.cluster_snapshot import Snapshot
from kpolicy.policy.codes.registry import remark
from kpolicy.policy.compile import shipped_names, shipped_source
from kpolicy.policy.document_kinds import is_of_kind, none_of_kind
from kpolicy.policy.models.validation import validated
from kpolicy.policy.yaml.nodes import (
    Node,
    Path,
    Scalar,
    dotted,
    find,
    key_at,
)
from kpolicy.policy.yaml.scalar_map import ScalarMap
from kpolicy.policy.yaml.source import Source, SourceText, placed
from kpolicy.policy.yaml.tree_reader import read_documents
from kpolicy.quick_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Suite:
    """One document. `tree` is parallel to `model`: a path of one is a path of the other."""

    text: SourceText
    tree: Node
    model: PolicyTest
    # Errors inside single tests, by index. A test with errors does not run.
    faults: Mapping[int, tuple[Diagnostic, ...]] = field(default_factory=dict)

    @property
    def file(self) -> str:
        return self.text.name

    @property
    def name(self) -> str:
        return self.model.metadata.name

    def span(self, path: Path) -> Span:
        node = find(self.tree, path)
        return node.span if node is not None else self.span(path[:-1]) if path else Span(0, 0)

    def key_span(self, path: Path) -> Span:
        """The span of the key at the end of the path."""
        key = key_at(self.tree, path)
        return key.span if key is not None else self.span(path)

    def place(self, path: Path) -> Place:
        return self.text.place(self.span(path))

    def remark(
        self,
        code: str,
        message: str,
        path: Path,
        *,
        hint: str = "",
        at_key: bool = False,
        notes: tuple[Note, ...] = (),
    ) -> Diagnostic:
        span = self.key_span(path) if at_key else self.span(path)
        return placed(
            self.text, remark(code, message, span, hint=hint, field=dotted(path), notes=notes)
        )


@dataclass(frozen=True, slots=True)
class ReadSuites:
    suites: tuple[Suite, ...]
    diagnostics: tuple[Diagnostic, ...]
    texts: tuple[SourceText, ...]


def read_suites(sources: Iterable[Source]) -> ReadSuites:
    """Every PolicyTest of every source. Skips documents of other kinds, unless a source that was
    named has nothing else."""
    suites: list[Suite] = []
    findings: list[Diagnostic] = []
    texts: list[SourceText] = []
    for source in sources:
        read = read_documents(source)
        texts.append(read.text)
        found = list(read.diagnostics)
        roots = [root for root in read.roots if is_of_kind(root, KIND)]
        if not roots and source.is_named and not has_errors(read.diagnostics):
            found.append(none_of_kind(read.roots, KIND))
        findings += [placed(read.text, finding) for finding in found]
        for root in roots:
            model, tree, problems = validated(PolicyTest, root)
            found = [placed(read.text, finding) for finding in problems]
            if model is not None:
                suite = Suite(read.text, tree, model)
                faults, found = _by_test(suite, [*found, *_problems(suite, root)])
                suites.append(replace(suite, faults=faults))
            findings += found
    return ReadSuites(tuple(suites), tuple(findings), tuple(texts))


def holds_tests(source: Source) -> bool:
    return any(is_of_kind(root, KIND) for root in _roots(source))


def holds_only_tests(source: Source) -> bool:
    roots = _roots(source)
    return bool(roots) and all(is_of_kind(root, KIND) for root in roots)


def _roots(source: Source) -> tuple[Node, ...]:
    """Does not parse a text that cannot hold a PolicyTest."""
    return read_documents(source).roots if KIND.encode() in source.encoded else ()


def _by_test(
    suite: Suite, findings: Iterable[Diagnostic]
) -> tuple[dict[int, tuple[Diagnostic, ...]], list[Diagnostic]]:
    """Errors inside single tests, by index, and all other findings."""
    faults: dict[int, tuple[Diagnostic, ...]] = {}
    others: list[Diagnostic] = []
    places = [suite.place(("tests", index)) for index in range(len(suite.model.tests))]
    for finding in findings:
        inside = [index for index, place in enumerate(places) if _holds(place, finding.place)]
        if inside and has_errors((finding,)):
            faults[inside[0]] = (*faults.get(inside[0], ()), finding)
        else:
            others.append(finding)
    return faults, others


def _holds(outer: Place, inner: Place | None) -> bool:
    begin, end = (outer.line, outer.column), (outer.end_line, outer.end_column)
    return inner is not None and begin <= (inner.line, inner.column) < end


def _problems(suite: Suite, written: Node) -> Iterator[Diagnostic]:
    model = suite.model
    if not model.tests and find(written, ("tests", 0)) is None:
        where: Path = ("tests",) if find(suite.tree, ("tests",)) is not None else ("kind",)
        yield suite.remark("KP502", "this document has no tests", where)
    yield from _same_names(suite)
    for name, node in model.fixtures.items():
        yield from _unknown_fixture(suite, ("fixtures", name), node.from_, model.fixtures)
    for name, pod in model.pod_fixtures.items():
        yield from _unknown_fixture(suite, ("podFixtures", name), pod.from_, model.pod_fixtures)
    for path, parent in _worlds(model):
        for index, node in enumerate(parent.nodes or ()):
            yield from _unknown_fixture(suite, (*path, "nodes", index), node.from_, model.fixtures)
        for index, pod in enumerate(parent.running or ()):
            at = (*path, "running", index)
            yield from _unknown_fixture(suite, at, pod.from_, model.pod_fixtures)
    for index, test in enumerate(model.tests):
        yield from _pods(suite, ("tests", index), test)


def _worlds(model: PolicyTest) -> Iterator[tuple[Path, PolicyTest | Test]]:
    yield (), model
    for index, test in enumerate(model.tests):
        yield ("tests", index), test


def _same_names(suite: Suite) -> Iterator[Diagnostic]:
    first: dict[str, int] = {}
    for index, test in enumerate(suite.model.tests):
        known = first.setdefault(test.name, index)
        if known != index:
            note = Note("first here", span=suite.span(("tests", known, "name")))
            message = f"two tests are called `{test.name}`"
            yield suite.remark("KP104", message, ("tests", index, "name"), notes=(note,))


def _unknown_fixture(
    suite: Suite, path: Path, wanted: str | None, known: Iterable[str]
) -> Iterator[Diagnostic]:
    if wanted is not None and wanted not in known:
        message, hint = f"there is no fixture `{wanted}`", did_you_mean(wanted, known)
        yield suite.remark("KP501", message, (*path, "from"), hint=hint)


def _pods(suite: Suite, path: Path, test: Test) -> Iterator[Diagnostic]:
    has_pod = test.pod is not None or test.pod_from is not None
    yield from _of_replays(suite, path, test)
    if test.expect.never is not None:
        yield from _never(suite, (*path, "expect", "never"), test.expect.never)
    if test.replay is not None:
        if test.sequence or has_pod:
            message = "a test has pods or a `replay`, not both"
            yield suite.remark("KP115", message, (*path, "replay"), at_key=True)
        return
    if test.sequence and has_pod:
        message = "a test has a `sequence` or a pod of its own, not both"
        yield suite.remark("KP115", message, (*path, "sequence"), at_key=True)
        return
    for at, step in steps_of(test):
        here = (*path, *at)
        form = step.pod
        if form is not None:
            if step.pod_from is not None:
                message = "a pod is written out or comes from a snapshot, not both"
                yield suite.remark("KP115", message, (*here, "podFrom"), at_key=True)
            yield from _unknown_fixture(suite, (*here, "pod"), form.from_, suite.model.pod_fixtures)
        elif step.pod_from is None:
            where = here if at else (*here, "name")
            yield suite.remark("KP114", "there is no `pod` here", where)


def _never(suite: Suite, path: Path, text: str) -> Iterator[Diagnostic]:
    """Errors of the expression, with their places in the file."""
    scalar = find(suite.tree, path)
    if not isinstance(scalar, Scalar):
        return
    to_file = ScalarMap(suite.text.text, scalar)
    for finding in compile_never(text).diagnostics:
        span = to_file.span(finding.span or Span(0, len(text)))
        yield placed(suite.text, replace(finding, span=span, field=dotted(path)))


def _of_replays(suite: Suite, path: Path, test: Test) -> Iterator[Diagnostic]:
    """Finds expectations of one pod in a replay or of a sequence, and the other way round."""
    of_steps = "a `replay`" if test.replay is not None else "one pod"
    listed = [(at, step.expect, of_steps) for at, step in steps_of(test)]
    if test.sequence:
        listed.append(((), test.expect, "a `sequence`"))
    for at, expect, here in listed:
        for name in expect.model_fields_set:
            what = "one pod"
            if name in OF_REPLAYS:
                what = "a `replay`"
            elif name in OF_SEQUENCES:
                what = "a `sequence`"
            if what == here:
                continue
            field = Expectation.model_fields[name].alias or name
            where = (*path, *at, "expect", field)
            yield suite.remark("KP115", f"`{field}` is expected of {what}", where, at_key=True)


def steps_of(test: Test) -> Iterator[tuple[Path, Step]]:
    """The pods of a test in order, with their paths in the test."""
    if not test.sequence:
        yield (), test
    for index, step in enumerate(test.sequence):
        yield ("sequence", index), step


_SCORE_FIELDS: Final = ("total", "raw", "weighted")


def unknown_names(suite: Suite, index: int, test: Test, rules: RuleNames) -> Iterator[Diagnostic]:
    """Reports each name that is no rule of the profile."""
    for at, step in steps_of(test):
        path: Path = ("tests", index, *at, "expect")
        for below, name, what, known in _names(step.expect, rules):
            if name not in known:
                message = f"the profile has no {what} `{name}`"
                hint = did_you_mean(name, known)
                is_key = what == "priority"
                yield suite.remark("KP501", message, (*path, *below), hint=hint, at_key=is_key)


def _names(
    expect: Expectation, rules: RuleNames
) -> Iterator[tuple[Path, str, str, Collection[str]]]:
    """Names of rules, with their paths, what they name, and the names that exist."""
    for node, rejection in expect.filters.items():
        by = rejection.rejected_by if isinstance(rejection, Rejection) else None
        here: Path = ("filters", node, "rejectedBy")
        if isinstance(by, str):
            yield here, by, "predicate", rules.filters
        for number, name in enumerate(by if isinstance(by, list) else ()):
            yield (*here, number), name, "predicate", rules.filters
    for node, scores in expect.scores.items():
        for name in scores.model_extra or {}:
            yield ("scores", node, name), name, "priority", (*rules.scores, *_SCORE_FIELDS)
        for kind, numbers in (("raw", scores.raw), ("weighted", scores.weighted)):
            for name in numbers:
                yield ("scores", node, kind, name), name, "priority", rules.scores
    if expect.held_by is not None:
        yield ("heldBy",), expect.held_by, "hold", rules.holds
    for number, error in enumerate(expect.errors or ()):
        known = {*rules.filters, *rules.scores, *rules.of_queue}
        yield ("errors", number, "rule"), error.rule, "rule", known
    for number, name in enumerate(expect.audited or ()):
        yield ("audited", number), name, "audited predicate", rules.audits


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
        own = snapshot if is_own else None
        at = ("tests", index, "replay", "snapshot")
        replayed[name] = reading.snapshot([name], at) if own is None else own
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
        path = self._beside(name)
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

    def _beside(self, name: str) -> File:
        """Without `FOLDER/..` in it, unless a symbolic link gives that another meaning."""
        path = File(self.suite.file).parent / name
        plain = File(os.path.normpath(path))
        return plain if plain.exists() and path.exists() and plain.samefile(path) else path

    def snapshot(self, names: Sequence[str], at: Path) -> Snapshot:
        paths = [str(self._beside(name)) for name in names]
        self.files += paths
        snapshot = Snapshot.load(paths)
        for problem in snapshot.problems:
            if problem.is_of_whole_source:
                message = f"the snapshot cannot be used: {problem}"
                self.diagnostics.append(self.suite.remark("KP501", message, at))
        return snapshot
