"""Bad snapshots from outside: a line of file and object for what is bad, answers for the rest."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

import pytest

from kpolicy.testing import node, pod

_LABELS: Final = 1_000_000
_DEPTH: Final = 100_000


def _listed(*more: Any) -> str:
    good = [node("good"), pod("fine")]
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": [*good, *more]})


def _named(kind: str, name: str, **fields: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": kind, "metadata": {"name": name}, **fields}


def _node(**allocatable: str) -> dict[str, Any]:
    return _named("Node", "odd", status={"allocatable": allocatable})


def _asking(cpu: str) -> dict[str, Any]:
    container = {"name": "c", "resources": {"requests": {"cpu": cpu}}}
    return _named("Pod", "odd", spec={"containers": [container]})


def _many_labels() -> dict[str, Any]:
    labels = {f"label-{index}": "v" for index in range(_LABELS)}
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "odd", "labels": labels}}


def _deep() -> str:
    deep = '{"a":' * _DEPTH + "1" + "}" * _DEPTH
    spec = f'"spec":{{"taints":{deep}}}'
    text = f'{{"apiVersion":"v1","kind":"Node","metadata":{{"name":"odd"}},{spec}}}'
    return _listed().removesuffix("]}") + f", {text}]}}"


# What is in the file, and what the line on standard error says of it.
BAD: Final = {
    "cut-short": (_listed(_node())[:-20], "cut short or broken at line 1"),
    "no-number": (
        _listed(_node(cpu="lots")),
        "Node odd: status.allocatable.cpu: a quantity starts",
    ),
    "negative": (_listed(_asking("-1")), "Pod odd: spec.containers[0].resources.requests.cpu"),
    "million-labels": (_listed(_many_labels()), "Node odd: larger than"),
    "deep": (_deep(), "Node odd: spec.taints"),
    "named-twice": (_listed(_asking("1"), _asking("2")), "already there, earlier in it"),
    "other-kind": (_listed(_named("Wizard", "odd")), "no rule reads these kinds: 1 Wizard"),
    "no-kind": (_listed({"metadata": {"name": "odd"}}), "kind is missing"),
    "no-object": (_listed(42), "an object is due"),
    "wrong-type": (
        _listed({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "odd", "labels": [1]}}),
        "Node odd: metadata.labels: ",
    ),
}


def _explain(folder: Path, text: str) -> tuple[int, list[str], list[dict[str, Any]]]:
    (folder / "snapshot.json").write_text(text)
    words = [sys.executable, "-m", "kpolicy", "explain", "--snapshot", "snapshot.json"]
    done = subprocess.run(
        [*words, "--output", "jsonl"], cwd=folder, capture_output=True, text=True, check=False
    )
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    return done.returncode, done.stderr.splitlines(), answers


@pytest.mark.parametrize("name", BAD)
def test_what_is_bad_is_named_and_the_rest_is_answered(name: str, tmp_path: Path) -> None:
    text, message = BAD[name]
    code, printed, answers = _explain(tmp_path, text)
    about = [line for line in printed if message in line]
    assert len(about) == 1, printed
    assert about[0].startswith("warning: snapshot.json: ")
    (fine,) = (answer for answer in answers if answer["pod"] == "default/fine")
    assert fine["selected"] == "good"
    assert code == 0


def test_absurd_amounts_are_amounts(tmp_path: Path) -> None:
    """As in Kubernetes, what is more than an int64 holds is the most that it holds."""
    text = _listed(_node(cpu="9" * 400, memory="1e99999", pods="110"))
    code, printed, answers = _explain(tmp_path, text)
    assert (code, printed) == (0, [])
    assert [each["name"] for each in answers[0]["nodes"] if "filter" not in each] == ["good", "odd"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "nothing else that a rule reads in snapshot.json"),
        ("\x01\x02", "nothing else that a rule reads in snapshot.json"),
        ("a: &a [*a]\n", "nothing else that a rule reads in snapshot.json"),
        ("just words", "snapshot.json: neither JSON nor YAML of API objects"),
    ],
)
def test_no_snapshot_at_all_is_reported_in_a_line(text: str, message: str, tmp_path: Path) -> None:
    code, printed, answers = _explain(tmp_path, text)
    assert (code, answers) == (2, [])
    assert message in printed[-1]
