"""A pod that is on a node, asked about as if it were not there.

Owns taking it away from an engine and putting it back. Assumes the pod as the snapshot has it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from kpolicy.engine import Engine
from kpolicy.offline.json_objects import Json

# What a pod has only since it is somewhere, besides its node.
_OF_PLACEMENT: Final = frozenset({"status"})
_NOW_NS: Final = 0


@contextmanager
def unplaced(engine: Engine, pod: Json) -> Iterator[None]:
    """Inside, the pod is pending; after, all is as before."""
    spec = dict(pod.get("spec") or {})
    spec.pop("nodeName", None)
    pending = {name: value for name, value in pod.items() if name not in _OF_PLACEMENT}
    pending["spec"] = spec
    _watched(engine, ("DELETED", pod), ("ADDED", pending))
    try:
        yield
    finally:
        _watched(engine, ("DELETED", pending), ("ADDED", pod))


def _watched(engine: Engine, *events: tuple[str, Json]) -> None:
    lines = [json.dumps({"type": kind, "object": item}) + "\n" for kind, item in events]
    engine.watch("pods", "".join(lines).encode(), _NOW_NS)
