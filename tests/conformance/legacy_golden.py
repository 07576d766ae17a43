"""Reads legacy Policy documents with the answers of kube-scheduler 1.20, and asks the engine the
same questions.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kpolicy.engine import Engine
from kpolicy.policy.compile import Compiled, compile_policy
from kpolicy.policy.yaml.source import Source

FOLDER = Path(__file__).parent / "policy-1.20"

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class World:
    """A small cluster, and the answers for each of its pending pods."""

    cluster: Json
    expected: Sequence[Json]


@dataclass(frozen=True, slots=True)
class Document:
    name: str
    policy: Json
    worlds: Sequence[World]

    def compiled(self, release: str = "") -> Compiled:
        text = json.dumps(self.policy, indent=1)
        return compile_policy([Source(f"{self.name}.json", text)], release=release, every_pod=True)


@dataclass(frozen=True, slots=True)
class Asked:
    """The answers of the engine by pod, and which built-in each rule is."""

    answers: Mapping[str, Json]
    builtins: Mapping[str, str]


def documents() -> list[Document]:
    return [_read(path) for path in sorted(FOLDER.glob("*.json.gz"))]


def _read(path: Path) -> Document:
    with gzip.open(path) as stream:
        content = json.load(stream)
    worlds = [World(cluster["cluster"], cluster["expected"]) for cluster in content["clusters"]]
    return Document(content["id"], content["policy"], worlds)


def ask(compiled: Compiled, world: World) -> Asked:
    assert compiled.program is not None, compiled.diagnostics
    engine = Engine(seed=1)
    assert engine.load(compiled.program.bytes) == []
    assert engine.load_objects(json.dumps(world.cluster).encode(), "cluster") == []
    lines = engine.explain(b'{"pods": null}', 0).splitlines()
    answers = {answer["pod"]: answer for answer in map(json.loads, lines)}
    (profile,) = json.loads(compiled.program.bytes)["profiles"]
    rules = [*profile["filters"], *profile["scores"]]
    return Asked(answers, {rule["name"]: rule.get("builtin", rule["name"]) for rule in rules})
