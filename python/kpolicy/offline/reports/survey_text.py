"""What is in a snapshot, as text and as JSON.

Texts from a recorded file are made printable, one line each.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, Final

from kpolicy.offline.reports.columns import (
    amount,
    bytes_of,
    columns,
    counted,
    largest_first,
    percent,
)
from kpolicy.offline.snapshot_file.reader import Header, header_json
from kpolicy.offline.snapshots.cluster_snapshot import Recorded
from kpolicy.offline.snapshots.inventory import State
from kpolicy.offline.snapshots.survey import Survey, number

_NOTHING: Final = Fraction(0)


def survey_json(survey: Survey, size_bytes: int) -> dict[str, Any]:
    return {
        "bytes": size_bytes,
        "kinds": dict(sorted(survey.kinds.items())),
        "leftOut": dict(sorted(survey.left_out.items())),
        "nodes": {
            "total": survey.nodes,
            "unschedulable": survey.nodes_unschedulable,
            "versions": dict(sorted(survey.node_versions.items())),
        },
        "pods": {
            "total": survey.pods.total(),
            "onNodes": survey.pods[State.ON_NODE],
            "pending": survey.pods_pending,
            "gated": survey.pods[State.GATED],
            "ended": survey.pods[State.ENDED],
            "pendingByScheduler": dict(sorted(survey.pending_by_scheduler.items())),
        },
        "resources": {
            name: {
                "allocatable": number(has),
                "requested": number(survey.requested.get(name, _NOTHING)),
            }
            for name, has in sorted(survey.allocatable.items())
        },
        "problems": [
            {
                "code": problem.code,
                "source": problem.source,
                "object": problem.object,
                "message": problem.message,
            }
            for problem in survey.problems
        ],
    }


def survey_text(survey: Survey, size_bytes: int) -> list[str]:
    lines = [f"size      {bytes_of(size_bytes)}B of JSON"]
    lines.append(f"objects   {_tally(survey.kinds)}")
    if survey.left_out:
        lines.append(f"left out  {_tally(survey.left_out)} (no rule reads these kinds)")
    versions = _tally(survey.node_versions)
    cordoned = f", {survey.nodes_unschedulable:,} unschedulable" * bool(survey.nodes_unschedulable)
    lines.append(f"nodes     {survey.nodes:,}{cordoned}" + f"; {versions}" * bool(versions))
    ended = f", {survey.pods[State.ENDED]:,} ended" * bool(survey.pods[State.ENDED])
    lines.append(
        f"pods      {survey.pods.total():,}: {survey.pods[State.ON_NODE]:,} on nodes, "
        f"{survey.pods_pending:,} pending{ended}"
    )
    lines += _pending(survey)
    rows = [["resource", "allocatable", "requested", ""]]
    for name, has in sorted(survey.allocatable.items()):
        asked = survey.requested.get(name, _NOTHING)
        share = percent(float(asked / has)) if has else ""
        rows.append([name, amount(name, has), amount(name, asked), share])
    return lines + (["", *columns(rows, right=range(1, 4))] if len(rows) > 1 else [])


def _pending(survey: Survey) -> list[str]:
    schedulers = sorted(survey.pending_by_scheduler.items())
    lines = [f"pending   {count:,} for {name}" for name, count in schedulers]
    if survey.pods[State.GATED]:
        lines.append(f"          {counted(survey.pods[State.GATED], 'pod')} of these gated")
    return lines


def _tally(counts: Counter[str]) -> str:
    return ", ".join(f"{count:,} {name}" for name, count in largest_first(counts)) or "none"


def recordings_json(recordings: Sequence[Recorded]) -> dict[str, Any]:
    """Nothing where no file is a recorded snapshot."""
    if not recordings:
        return {}
    return {
        "recordings": [
            {"source": recorded.source} | header_json(recorded.header) for recorded in recordings
        ]
    }


def recordings_text(recordings: Sequence[Recorded]) -> list[str]:
    lines: list[str] = []
    for recorded in recordings:
        if len(recordings) > 1:
            lines.append(f"file      {recorded.source}")
        lines += _lines(recorded.header)
    return lines


def _lines(header: Header) -> list[str]:
    origin, content = header.origin, header.content
    when = _one_line(origin.recorded) or "at an unknown time"
    cluster = f" from Kubernetes {_one_line(origin.cluster_version)}" * bool(origin.cluster_version)
    lines = [f"recorded  {when}{cluster} by kpolicy {_one_line(header.kpolicy_version)}"]
    lines.append(f"content   sha256:{_one_line(content.sha256)}")
    lines += _versions(header)
    for why, kinds in sorted(_by_value(origin.left_out).items()):
        lines.append(f"missing   {', '.join(kinds)} ({why})")
    if origin.redaction is not None:
        kept = (*origin.redaction.kept_labels, *origin.redaction.kept_namespaces)
        but = f" but {', '.join(map(_one_line, kept))}" * bool(kept)
        lines.append(f"redacted  names and label values are replaced{but}")
    return lines


def _versions(header: Header) -> list[str]:
    """One line where all kinds are of one version."""
    by_version = _by_value(header.origin.resource_versions)
    if len(by_version) == 1:
        return [f"version   {version} for every kind" for version in by_version]
    return [f"version   {version} of {', '.join(kinds)}" for version, kinds in by_version.items()]


def _by_value(of_kinds: Any) -> dict[str, list[str]]:
    gathered: defaultdict[str, list[str]] = defaultdict(list)
    for kind, value in sorted(of_kinds.items()):
        gathered[_one_line(value)].append(_one_line(kind))
    return dict(gathered)


def _one_line(text: str) -> str:
    return "".join(character if character.isprintable() else "�" for character in text)
