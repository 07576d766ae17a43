"""`lint` with a snapshot: the findings of the texts, and those that a recorded cluster adds.

A name that nothing has (KP312) replaces the findings that follow from it: the lookup that errs, and
the rule that never differs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, Final

from kpolicy.diagnostics import Diagnostic, Note, Place, has_errors
from kpolicy.offline.snapshot_lint.absent_names import (
    Named,
    Names,
    absent,
    absent_name,
    labelled,
    names_of,
)
from kpolicy.offline.snapshot_lint.idle_weights import Weighed, weighed
from kpolicy.offline.snapshot_lint.rule_verdicts import Judged, Scores, Verdicts, judged
from kpolicy.offline.snapshots.cluster_snapshot import Recorded, Snapshot
from kpolicy.policy.assembly.policy_checks import beyond
from kpolicy.policy.assembly.resolve import AppliedRule
from kpolicy.policy.authority import UNLIMITED, Authority
from kpolicy.policy.cel.tree import Read, own_nodes
from kpolicy.policy.codes.registry import remark
from kpolicy.policy.compile import Compiled, Examined, examine
from kpolicy.policy.limits import WEIGHT_MAX
from kpolicy.policy.lint.lookups import is_lookup, label_of_domain, literal_text
from kpolicy.policy.lint.reads import reads_the_time
from kpolicy.policy.lint.written import RuleExpression, WrittenExpression, WrittenPolicy
from kpolicy.policy.yaml.nodes import Path, find
from kpolicy.policy.yaml.source import Source
from kpolicy.release_table import RELEASES
from kpolicy.version import VERSION

# Findings of a part of a rule that explain why the rule never differs.
_EXPLAINING: Final = frozenset({"KP303", "KP305", "KP307", "KP323"})


def lint(
    sources: Sequence[Source],
    snapshot: Snapshot | None = None,
    *,
    params: Mapping[str, Any] | None = None,
    release: str = "",
    library: Sequence[Source] = (),
    authority: Authority = UNLIMITED,
    feature_gates: Mapping[str, bool] | None = None,
) -> Compiled:
    """As `compile_policy`; with a snapshot, also the findings about that cluster."""
    examined = examine(
        sources,
        params=params,
        release=release,
        library=library,
        authority=authority,
        cluster_version=snapshot.cluster_version if snapshot is not None else "",
        feature_gates=feature_gates,
    )
    if snapshot is None:
        return examined.compiled()
    return _Against(examined, snapshot, authority.tenant_label).compiled()


class _Against:
    def __init__(self, examined: Examined, snapshot: Snapshot, tenant_label: str) -> None:
        self._examined = examined
        self._recordings = snapshot.recordings
        queues = (policy.model.spec.queue for policy in examined.policies)
        labels = (queue.tenant_label for queue in queues if queue is not None)
        label = tenant_label or next(filter(None, labels), "")
        self._names: Names = names_of(snapshot.objects(), label)
        self._written = [
            WrittenPolicy(policy, examined.expressions.own[policy.name])
            for policy in examined.policies
        ]
        self._judged: Judged = judged(
            snapshot,
            self._rules(),
            list(examined.expressions.own),
            examined.expressions,
            self._names.nodes.total,
        )
        self._weighed: dict[tuple[str, str], Weighed] = {}
        if examined.program is not None and not has_errors(examined.findings):
            self._weighed = weighed(snapshot, examined.program, self._names.nodes.total)

    def compiled(self) -> Compiled:
        missing = [
            (policy, at, named)
            for policy in self._written
            for at, named in absent(policy, self._names)
        ]
        more = [absent_name(policy, at, named, self._names) for policy, at, named in missing]
        more += of_other_versions(self._recordings)
        more += self._beyond_budget()
        explained = {(policy.policy.name, at.path) for policy, at, _ in missing}
        more += self._never_differing(explained)
        placed = self._lookups(missing)
        findings = tuple(
            found for before in self._examined.findings if (found := self._noted(before, placed))
        )
        return replace(self._examined, findings=findings).compiled(more, not_looked_for=())

    def _beyond_budget(self) -> Iterator[Diagnostic]:
        """KP401 for rules whose cost limit is too low for the nodes of the snapshot."""
        for policy in self._examined.policies:
            expressions = self._examined.expressions.own[policy.name]
            if not any(beyond(policy, expressions, 1)):  # reported without a snapshot too
                yield from beyond(policy, expressions, self._names.nodes.total)

    def _rules(self) -> dict[str, list[AppliedRule]]:
        """Rules of these policies that compile, each once, by scheduler name."""
        own_names = {policy.name for policy in self._examined.policies}
        seen: set[object] = set()
        found: dict[str, list[AppliedRule]] = {}
        for scheduler_name, served in self._examined.resolution.profiles.items():
            for effective in served:
                for rule in (*effective.predicates, *effective.priorities):
                    written = rule.written
                    is_new = written.identity not in seen and written.policy.name in own_names
                    if is_new and self._is_sound(rule):
                        seen.add(written.identity)
                        found.setdefault(scheduler_name, []).append(rule)
        return found

    def _is_sound(self, rule: AppliedRule) -> bool:
        """Whether all expressions of the rule were compiled."""
        written = rule.written
        expressions = self._examined.expressions.own[written.policy.name]
        spec = written.policy.model.spec
        paths = [(*written.path, "expression")]
        for at, count in (
            (("spec",), len(spec.match_conditions)),
            (written.path, len(written.rule.match_conditions)),
        ):
            paths += [(*at, "matchConditions", index, "expression") for index in range(count)]
        told_by = (*written.path, "messageExpression")
        if expressions.compiled(told_by) is not None:
            paths.append(told_by)
        is_replaced = bool(rule.unless)
        return not is_replaced and all(expressions.ir(path) is not None for path in paths)

    # Lookups that err, and names that nothing has.

    def _lookups(
        self, missing: list[tuple[WrittenPolicy, WrittenExpression, Named]]
    ) -> dict[Place, str]:
        """A note about each lookup, by its place. It is empty if KP312 reports the name already."""
        absent_names = {
            (policy.policy.name, at.path, named.kind, named.name) for policy, at, named in missing
        }
        found: dict[Place, str] = {}
        for policy in self._written:
            for at in policy.all():
                for part in own_nodes(at.tree):
                    if not is_lookup(part) or not isinstance(part, Read):
                        continue
                    label = label_of_domain(part)
                    name = part.name if label is None else "node.labels[]"
                    held = labelled(name, self._names)
                    key = literal_text(label or part.args[-1]) if part.args else None
                    if held is None or key is None:
                        continue
                    kind, all_of = held
                    place = policy.finding(at, "KP301", "", part.span).place
                    if place is None or not all_of.total:
                        continue
                    lacking = all_of.total - all_of.keys[key]
                    is_absent = (policy.policy.name, at.path, kind, key) in absent_names
                    found[place] = "" if is_absent else _lacking(kind, key, lacking, all_of.total)
        return found

    def _noted(self, finding: Diagnostic, lookups: Mapping[Place, str]) -> Diagnostic | None:
        place = finding.place
        if finding.code in ("KP301", "KP331") and place is not None and place in lookups:
            note = lookups[place]
            return replace(finding, notes=(*finding.notes, Note(note))) if note else None
        return self._with_range(finding) if finding.code == "KP322" else finding

    def _with_range(self, finding: Diagnostic) -> Diagnostic:
        """Adds the range of the scores on the snapshot."""
        scores = self._judged.scores.get(self._ranges.get(finding.place, ("", ())))
        if scores is None or not scores.count:
            return finding
        low, high = (f"{value:,g}" for value in (scores.low, scores.high))
        note = Note(f"{low} … {high} on the snapshot", place=finding.place)
        return replace(finding, notes=(*finding.notes, note))

    @cached_property
    def _clamped(self) -> set[Place | None]:
        return {found.place for found in self._examined.findings if found.code == "KP322"}

    @staticmethod
    def _place_of(policy: WrittenPolicy, rule: RuleExpression) -> Place | None:
        at = rule.expression
        return policy.finding(at, "KP322", "", at.tree.span).place

    @cached_property
    def _ranges(self) -> dict[Place | None, tuple[str, Path]]:
        """Rules by the places of their expressions."""
        return {
            self._place_of(policy, rule): (policy.policy.name, rule.path)
            for policy in self._written
            for rule in policy.rules
        }

    # Rules that never differ.

    def _never_differing(self, explained: set[tuple[str, Path]]) -> Iterator[Diagnostic]:
        constant = [found.place for found in self._examined.findings if found.code in _EXPLAINING]
        for policy in self._written:
            for rule in policy.rules:
                at = rule.expression
                place = policy.finding(at, "KP304", "", at.tree.span).place
                if (policy.policy.name, at.path) in explained or _holds(place, constant):
                    continue
                if reads_the_time(at.tree):
                    continue  # the snapshot is of one moment
                key = (policy.policy.name, rule.path)
                yield from self._of_verdicts(policy, rule, self._judged.verdicts.get(key))
                yield from self._of_scores(policy, rule, self._judged.scores.get(key))

    @property
    def _asked(self) -> str:
        pods, nodes = _many(self._judged.pods, "pod"), _many(self._judged.nodes, "node")
        return f"asked for {pods} on {nodes}"

    def _of_verdicts(
        self, policy: WrittenPolicy, rule: RuleExpression, verdicts: Verdicts | None
    ) -> Iterator[Diagnostic]:
        if verdicts is None or bool(verdicts.passed) == bool(verdicts.rejected):
            return
        message = f"on the snapshot this rejects no node, {self._asked}"
        notes: tuple[Note, ...] = ()
        if verdicts.rejected:
            message = f"on the snapshot this rejects every node, {self._asked}"
            if verdicts.erred == verdicts.rejected:
                notes = (Note(f"always by an error: {verdicts.why}"),)
        at = rule.expression
        yield policy.finding(at, "KP304", message, at.tree.span, notes=notes)

    def _of_scores(
        self, policy: WrittenPolicy, rule: RuleExpression, scores: Scores | None
    ) -> Iterator[Diagnostic]:
        if scores is not None and scores.differs:
            yield from self._of_weight(policy, rule)
        if scores is None or scores.differs or not scores.pods:
            return
        value = f", {scores.low:,g}" if scores.low == scores.high else ""
        message = f"on the snapshot this score is the same on all nodes{value}, {self._asked}"
        at = rule.expression
        yield policy.finding(at, "KP323", message, at.tree.span)

    def _of_weight(self, policy: WrittenPolicy, rule: RuleExpression) -> Iterator[Diagnostic]:
        """KP328, unless a pod's best nodes would be others without the score, or KP322 says why."""
        found = self._weighed.get((policy.policy.name, rule.name))
        is_clamped = self._place_of(policy, rule) in self._clamped
        if found is None or found.matters or not found.pods or is_clamped:
            return
        message = (
            f"on the snapshot the weight {found.weight} changes no decision: "
            f"{_many(found.pods, 'pod')} had the same best nodes without `{rule.name}`"
        )
        is_possible = found.weight < found.least <= WEIGHT_MAX
        hint = f"from `weight: {found.least:.0f}` on it would" if is_possible else ""
        path: Path = (*rule.path, "weight")
        at = path if find(policy.policy.tree, path) is not None else (*rule.path, "expression")
        yield policy.policy.remark("KP328", message, at, hint=hint)


def _holds(place: Place | None, others: Sequence[Place | None]) -> bool:
    """Whether one of the others lies inside the place."""
    return place is not None and any(
        other is not None
        and other.file == place.file
        and (place.line, place.column) <= (other.line, other.column)
        and (other.end_line, other.end_column) <= (place.end_line, place.end_column)
        for other in others
    )


def _many(number: int, what: str) -> str:
    return f"1 {what}" if number == 1 else f"{number:,} {what}s"


def _lacking(kind: str, key: str, lacking: int, total: int) -> str:
    if not lacking:
        return f"all {_many(total, kind)} in the snapshot have it"
    have = "has" if lacking == 1 else "have"
    return f"{lacking:,} of {_many(total, kind)} in the snapshot {have} no label `{key}`"


def of_other_versions(recordings: Iterable[Recorded]) -> Iterator[Diagnostic]:
    """KP504 for files of another minor release. A redacted file may lack the cluster's version."""
    for recorded in recordings:
        at, header = Place(recorded.source, 1, 1, 1, 1), recorded.header
        recorder, cluster = header.kpolicy_version, header.origin.cluster_version
        if _minor(recorder) != _minor(VERSION):
            message = f"recorded with kpolicy {recorder}; this is {VERSION}"
            hint = "record it again, or read what may differ in the changelog"
            yield remark("KP504", message, hint=hint).at(at)
        if cluster and _minor(cluster) not in RELEASES:
            follows = f"it follows {RELEASES[0]} to {RELEASES[-1]}"
            message = f"recorded of Kubernetes {cluster}, which kpolicy does not follow"
            hint = f"{follows}; kube-scheduler of that cluster may have decided differently"
            yield remark("KP504", message, hint=hint).at(at)


def _minor(version: str) -> str:
    """`v1.36.2-gke.100` as `1.36`."""
    return ".".join(version.removeprefix("v").split(".")[:2])
