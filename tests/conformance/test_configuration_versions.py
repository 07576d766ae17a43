"""v1beta2 and v1beta3 decide as the same written in v1, on every golden cluster, byte for byte.

`kube-scheduler-versions/NAME.v1.yaml` says in v1 what `NAME.v1beta2.yaml` says; v1beta3 has the
words of v1.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

import pytest

from kpolicy import Source, compile_policy, convert_policy
from kpolicy.diagnostics import has_errors
from kpolicy.engine import Engine
from tests.conformance import golden

FOLDER = Path(__file__).parent / "kube-scheduler-versions"
IN_V1 = sorted(FOLDER.glob("*.v1.yaml"))
GOLDEN = sorted((golden.FOLDER / "configs").glob("*.yaml"))
GROUP = "kubescheduler.config.k8s.io"


@cache
def _clusters() -> list[bytes]:
    """Every golden cluster as the engine loads it; encoded once for all policies."""
    return [json.dumps(golden.read(name).cluster).encode() for name in golden.case_names()]


def _program(text: str) -> bytes:
    result = compile_policy(Source("configuration.yaml", text), every_pod=True)
    assert result.program is not None, result.diagnostics
    assert not has_errors(result.diagnostics)
    return result.program.bytes


def _explained(program: bytes, cluster: bytes) -> bytes:
    engine = Engine(seed=1)
    assert engine.load(program) == []
    engine.load_objects(cluster, "cluster")
    return engine.explain(b'{"pods": null}', 0)


def _same(texts: list[tuple[str, str]]) -> tuple[int, int]:
    """The number of compared clusters and decisions."""
    clusters, decisions = 0, 0
    programs = [(_program(first), _program(other)) for first, other in texts]
    for cluster in _clusters():
        for first, other in programs:
            expected = _explained(other, cluster)
            assert _explained(first, cluster) == expected
            clusters += 1
            decisions += expected.count(b"\n")
    return clusters, decisions


@pytest.mark.slow
def test_v1beta2_decides_as_what_it_means_in_v1() -> None:
    pairs = [
        (path.with_name(path.name.replace(".v1.", ".v1beta2.")).read_text(), path.read_text())
        for path in IN_V1
    ]
    assert len(pairs) == 4
    assert len(set(map(_program, (first for first, _ in pairs)))) == 4
    clusters, decisions = _same(pairs)
    assert clusters == 4 * 132
    assert decisions > 1_000


@pytest.mark.slow
def test_v1beta3_decides_as_v1() -> None:
    texts = [path.read_text() for path in (*IN_V1, *GOLDEN)]
    pairs = [(text.replace(f"{GROUP}/v1\n", f"{GROUP}/v1beta3\n"), text) for text in texts]
    assert len(pairs) == 9
    assert all(first.startswith(f"apiVersion: {GROUP}/v1beta3\n") for first, _ in pairs)
    clusters, decisions = _same(pairs)
    assert clusters == 9 * 132
    assert decisions > 2_000


def test_the_default_weights_of_v1beta2_decide_otherwise_than_those_of_v1() -> None:
    """Otherwise the comparison would prove nothing."""
    beta = _program((FOLDER / "defaults.v1beta2.yaml").read_text())
    program = _program(f"apiVersion: {GROUP}/v1\nkind: KubeSchedulerConfiguration\n")
    differing = [c for c in _clusters() if _explained(beta, c) != _explained(program, c)]
    assert len(differing) > 20


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.v1beta2.yaml")), ids=lambda path: path.stem)
def test_convert_says_the_version_and_decides_the_same(path: Path) -> None:
    converted = convert_policy(Source(path.name, path.read_text()))
    assert converted.text is not None
    assert "KubeSchedulerConfiguration/v1beta2" in converted.text
    before, after = _program(path.read_text()), _program(converted.text)
    compared = [_explained(after, c) == _explained(before, c) for c in _clusters()[:20]]
    assert compared == [True] * 20
