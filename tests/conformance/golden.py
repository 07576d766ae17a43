"""Reads the golden cases, and asks the engine the same questions. The README of the folder says how
the answers were recorded.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kpolicy import compile_policy
from kpolicy.engine import Engine

FOLDER = Path(__file__).parent / "kube-scheduler-1.36"

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Case:
    name: str
    config: str
    cluster: Json
    expected: Sequence[Json]


def case_names() -> list[str]:
    return sorted(path.name.removesuffix(".json.gz") for path in FOLDER.glob("*.json.gz"))


def read(name: str) -> Case:
    with gzip.open(FOLDER / f"{name}.json.gz") as stream:
        content = json.load(stream)
    config = content["config"]
    text = (FOLDER / "configs" / Path(config).name).read_text() if config else ""
    return Case(name, text, content["cluster"], content["expected"])


def explained(case: Case) -> dict[str, Json]:
    """What the engine says of every pending pod, by `namespace/name`."""
    engine = Engine(seed=1)
    compiled = compile_policy(case.config or (), every_pod=True)
    assert compiled.program is not None, compiled.diagnostics
    assert engine.load(compiled.program.bytes) == []
    assert engine.load_objects(json.dumps(case.cluster).encode(), case.name) == []
    answers = [json.loads(line) for line in engine.explain(b'{"pods": null}', 0).splitlines()]
    return {answer["pod"]: answer for answer in answers}
