"""The headers of recorded snapshots as text, and as JSON.

Owns both layouts. Texts of a header are a file's and are made one line each. Must not read files.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from kpolicy.offline.recording.header import Header, header_json
from kpolicy.offline.snapshot import Recorded


def recordings_json(recordings: Sequence[Recorded]) -> dict[str, Any]:
    """Nothing where no file is a recorded snapshot."""
    if not recordings:
        return {}
    return {"recordings": [{"source": one.source} | header_json(one.header) for one in recordings]}


def recordings_text(recordings: Sequence[Recorded]) -> list[str]:
    lines: list[str] = []
    for one in recordings:
        if len(recordings) > 1:
            lines.append(f"file      {one.source}")
        lines += _lines(one.header)
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
        return [f"version   {version}, of every kind" for version in by_version]
    return [f"version   {version} of {', '.join(kinds)}" for version, kinds in by_version.items()]


def _by_value(of_kinds: Any) -> dict[str, list[str]]:
    gathered: defaultdict[str, list[str]] = defaultdict(list)
    for kind, value in sorted(of_kinds.items()):
        gathered[_one_line(value)].append(_one_line(kind))
    return dict(gathered)


def _one_line(text: str) -> str:
    return "".join(character if character.isprintable() else "�" for character in text)
