"""What `convert` writes decides as what it read, on every golden cluster, byte for byte."""

from __future__ import annotations

import gzip
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from kpolicy import Source, compile_policy, convert_policy
from kpolicy.engine import Engine
from kpolicy.policy.format.kube_scheduler import write_configuration
from tests.conformance import golden

# Refused by the engine: the document names a built-in that it does not have.
UNKNOWN_BUILTIN = "PR101"
LEGACY = Path(__file__).parent / "policy-1.20"


@dataclass(slots=True)
class Counted:
    documents: int = 0
    refused: int = 0
    undecided: int = 0
    clusters: int = 0
    pods: int = 0
    bytes: int = 0


def _explained(program: bytes, cluster: dict[str, Any]) -> bytes:
    engine = Engine(seed=1)
    assert engine.load(program) == []
    engine.load_objects(json.dumps(cluster).encode(), "cluster")
    return engine.explain(b'{"pods": null}', 0)


def _compare(text: str, clusters: list[dict[str, Any]], counted: Counted) -> None:
    source = Source("original.json", text)
    converted = convert_policy(source)
    original = compile_policy(source, every_pod=True).program
    if original is None:
        assert converted.text is None
        assert any(
            diagnostic.severity == "error" and diagnostic.code
            for diagnostic in converted.diagnostics
        )
        counted.refused += 1
        return
    assert converted.text is not None
    made = compile_policy(Source("converted.yaml", converted.text), every_pod=True).program
    assert made is not None
    counted.documents += 1
    assert made.hash == original.hash
    refusals = Engine().load(original.bytes)
    if refusals:
        assert {refusal.code for refusal in refusals} == {UNKNOWN_BUILTIN}
        counted.undecided += 1
        return
    for cluster in clusters:
        before = _explained(original.bytes, cluster)
        assert _explained(made.bytes, cluster) == before
        counted.clusters += 1
        counted.pods += before.count(b"\n")
        counted.bytes += len(before)


@pytest.mark.slow
def test_configurations() -> None:
    counted, disabling = Counted(), 0
    for name in golden.case_names():
        case = golden.read(name)
        if case.config:
            _compare(case.config, [case.cluster], counted)
            disabling += "disabled:" in case.config
    assert (counted.documents, counted.refused, counted.clusters) == (54, 0, 54)
    assert disabling > 0
    assert counted.pods >= 100
    assert counted.bytes > 100_000


@pytest.mark.slow
def test_policies_are_written_as_configurations() -> None:
    """A configuration, converted and written back, decides as before."""
    clusters = pods = 0
    for name in golden.case_names():
        case = golden.read(name)
        if not case.config:
            continue
        policy = convert_policy(Source("original.yaml", case.config)).text
        assert policy is not None
        written = write_configuration(Source("converted.yaml", policy))
        assert written.text is not None
        assert [found for found in written.diagnostics if found.code == "KP608"] == []
        programs = [compile_policy(text, every_pod=True).program for text in (policy, written.text)]
        decided = [_scored(_explained(each.bytes, case.cluster)) for each in programs if each]
        assert decided[0] == decided[1]
        clusters += 1
        pods += len(decided[0])
    assert clusters == 54
    assert pods >= 100


def _scored(explained: bytes) -> list[Any]:
    """Without the order of scores, which are added up."""
    return [json.loads(line) for line in explained.splitlines()]


def test_legacy_policies() -> None:
    counted = Counted()
    for path in sorted(LEGACY.glob("*.json.gz")):
        with gzip.open(path) as stream:
            content = json.load(stream)
        policy = content["policy"]
        text = policy if isinstance(policy, str) else json.dumps(policy)
        _compare(text, [cluster["cluster"] for cluster in content["clusters"]], counted)
    assert (counted.documents, counted.refused) == (29, 12)
    # For documents that cannot decide, only the programs are compared.
    assert counted.undecided == 0
    assert counted.clusters >= 5
    assert counted.pods >= 10
