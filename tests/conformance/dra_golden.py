"""Reads the golden cases with devices, and asks the engine the same questions. The READMEs of the
folders say how the answers were recorded.
"""

from __future__ import annotations

import gzip
import json
import re
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from kpolicy import compile_policy
from kpolicy.engine import Engine
from tests.conformance.comparison import differences as other_differences

HERE = Path(__file__).parent
Json = Mapping[str, Any]


def names(release: str) -> list[str]:
    return sorted(path.name.removesuffix(".json.gz") for path in folder(release).glob("*.json.gz"))


def folder(release: str) -> Path:
    return HERE / f"dra-{release}"


def read(release: str, name: str) -> Json:
    with gzip.open(folder(release) / f"{name}.json.gz") as stream:
        case: Json = json.load(stream)
    return case


def explained(release: str, case: Json, name: str) -> dict[str, Json]:
    """What the engine says of every pending pod, by `namespace/name`."""
    engine = Engine(seed=1)
    compiled = compile_policy((), every_pod=True, release=release)
    assert compiled.program is not None, compiled.diagnostics
    assert engine.load(compiled.program.bytes) == []
    assert engine.load_objects(json.dumps(case["cluster"]).encode(), name) == []
    # Allocations of January 2026 were recorded as too old to wait for.
    answers = engine.explain(b'{"pods": null}', time.time_ns()).splitlines()
    return {answer["pod"]: answer for answer in map(json.loads, answers)}


def differences(got: Json, want: Json, cluster: Json) -> Iterator[str]:
    """One line for each difference; empty if all agree."""
    if "error" in want:
        # Which node's error is told is open; here as there, nodes are asked in order of names.
        if got.get("message") != want["error"]:
            yield f"error: got {got.get('message')!r}, want {want['error']!r}"
        return
    yield from other_differences(got, want, cluster)
    nodes = {node["name"]: node for node in got.get("nodes") or ()}
    for node in want["nodes"] or ():
        own = nodes.get(node["name"], {})
        yield from _differ(f"{node['name']} allocations", own, node, "allocations")
    got_dra, want_dra = got.get("dra", {}), want.get("dra", {})
    yield from _differ("dra", got_dra, want_dra, "bind")
    if "postFilter" in want_dra:
        for part in ("postFilter", "unavailable", "deallocatable"):
            yield from _differ("dra", got_dra, want_dra, part)
        # Of several, kube-scheduler takes a random one.
        if len(want_dra.get("deallocatable", ())) <= 1:
            yield from _differ("dra", got_dra, want_dra, "claims")


def _differ(what: str, got: Json, want: Json, part: str) -> Iterator[str]:
    left, right = (_written(side.get(part)) for side in (got, want))
    if left != right:
        yield f"{what} {part}:\n  got  {left}\n  want {right}"


def _written(value: object) -> str:
    """As text, without the ids of shares, which are random."""
    text = json.dumps(value or None, sort_keys=True)
    return re.sub(r'"shareID": "[^"]*"', '"shareID": "*"', text)
