"""Reads the golden cases, and asks the engine the same questions. The README of the folder says how
the answers were recorded.
"""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kpolicy import compile_policy
from kpolicy.engine import Engine

HERE = Path(__file__).parent
# The release of which tests ask that are about no release.
RELEASE = "1.36"
FOLDER = HERE / f"kube-scheduler-{RELEASE}"
# All releases were asked about the same clusters, with these files.
_CONFIGS = FOLDER / "configs"

Json = dict[str, Any]
# The recorder wrote the status of nodes that were not looked at after it had asked the filters, so
# it named filters that kube-scheduler, which writes it before (`findNodesThatFitPod`), does not.
_LATE = re.compile(r"(plugin\(s\) \[NodeAffinity) [A-Za-z]+\]")


@dataclass(frozen=True, slots=True)
class Case:
    name: str
    release: str
    config: str
    cluster: Json
    expected: Sequence[Json]


def case_names(release: str = RELEASE) -> list[str]:
    folder = HERE / f"kube-scheduler-{release}"
    return sorted(path.name.removesuffix(".json.gz") for path in folder.glob("*.json.gz"))


def read(name: str, release: str = RELEASE) -> Case:
    with gzip.open(HERE / f"kube-scheduler-{release}" / f"{name}.json.gz") as stream:
        content = json.loads(_LATE.sub(r"\1]", stream.read().decode()))
    config = content["config"]
    text = (_CONFIGS / Path(config).name).read_text() if config else ""
    return Case(name, release, text, content["cluster"], content["expected"])


def explained(case: Case) -> dict[str, Json]:
    """What the engine says of every pending pod, by `namespace/name`."""
    engine = Engine(seed=1)
    compiled = compile_policy(case.config or (), every_pod=True, release=case.release)
    assert compiled.program is not None, compiled.diagnostics
    assert engine.load(compiled.program.bytes) == []
    assert engine.load_objects(json.dumps(case.cluster).encode(), case.name) == []
    answers = [json.loads(line) for line in engine.explain(b'{"pods": null}', 0).splitlines()]
    return {answer["pod"]: answer for answer in answers}
