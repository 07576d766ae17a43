"""Objects that arrive kind by kind, as a snapshot in memory; a kind may begin again."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping
from typing import Any

from kpolicy.offline.snapshots.cluster_snapshot import Snapshot, Text
from kpolicy.offline.snapshots.snapshot_problem import Problem


class Gathered:
    def __init__(self) -> None:
        self._texts: defaultdict[str, list[str]] = defaultdict(list)

    def discard(self, kind: str) -> None:
        self._texts.pop(kind, None)

    def add(self, item: Mapping[str, Any]) -> Problem | None:
        self._texts[str(item.get("kind"))].append(json.dumps(item))
        return None

    def snapshot(self, source: str) -> Snapshot:
        return Snapshot(Text(source, "\n".join(lines).encode()) for lines in self._texts.values())
