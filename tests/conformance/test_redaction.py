"""A redacted cluster decides as the original cluster does, except for the names.

Every golden cluster is explained, redacted, and explained again; then the second answer is mapped
back to the original names. Where the order of names matters, the test only checks the rule behind
it: one of the best nodes is selected, and a tie of preemption is resolved to one of the tied nodes.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import pytest

import kpolicy
from kpolicy import Snapshot
from kpolicy.offline.redaction.field_rules import STANDS_FOR
from kpolicy.offline.redaction.redact import redactor
from tests.conformance import golden
from tests.conformance.comparison import differences

KEY = b"the key of the conformance tests"
# The configurations of the golden folder name values of this label.
NAMED_BY_POLICIES = ("disk",)
VOLUMES = golden.FOLDER.parent / "volume-plugins-1.36" / "cases.jsonl.gz"
Json = dict[str, Any]


def volume_cases() -> Iterator[golden.Case]:
    with gzip.open(VOLUMES) as lines:
        for number, line in enumerate(lines):
            yield golden.Case(
                f"volumes-{number}", golden.RELEASE, "", json.loads(line)["cluster"], ()
            )


def again(case: golden.Case) -> tuple[dict[str, Json], str]:
    """The answers of the redacted cluster under the old names, and its text."""
    work = redactor(Snapshot.of(case.cluster["items"]), KEY, keep_labels=NAMED_BY_POLICIES)
    items = list(work.redacted())
    names = {word: name for name, word in work.words.replaced().items()}
    cluster = {"apiVersion": "v1", "kind": "List", "items": items}
    answers = json.dumps(list(golden.explained(replace(case, cluster=cluster)).values()))
    restored = json.loads(STANDS_FOR.sub(lambda found: json.dumps(names[found[0]])[1:-1], answers))
    for answer in restored:
        if "best" in answer:
            answer["best"].sort()
    return {answer["pod"]: answer for answer in restored}, json.dumps(items)


def compared(case: golden.Case) -> tuple[int, int, list[str]]:
    """How many pods and verdicts on nodes were compared, and what differs."""
    want = golden.explained(case)
    got, _ = again(case)
    assert sorted(got) == sorted(want)
    found = [
        f"{case.name} {pod} {line}"
        for pod, answer in want.items()
        for line in differences(got[pod], answer, case.cluster)
    ]
    return len(want), sum(len(answer.get("nodes") or ()) for answer in want.values()), found


@pytest.mark.slow
@pytest.mark.parametrize("cases", ["golden", "volumes"])
def test_every_verdict_is_the_same(cases: str) -> None:
    chosen: Sequence[golden.Case] = (
        [golden.read(name) for name in golden.case_names()]
        if cases == "golden"
        else list(volume_cases())
    )
    pods = verdicts = 0
    found: list[str] = []
    for case in chosen:
        more_pods, more_verdicts, differing = compared(case)
        pods, verdicts, found = pods + more_pods, verdicts + more_verdicts, found + differing
    assert found == [], f"{len(found)} differences, first: " + "\n".join(found[:20])
    at_least = (132, 1600, 18_000) if cases == "golden" else (160, 800, 3_000)
    assert (len(chosen), pods, verdicts) >= at_least


@pytest.mark.slow
def test_no_name_of_a_cluster_is_left() -> None:
    looked_at = 0
    for name in golden.case_names():
        case = golden.read(name)
        text = again(case)[1]
        left = {
            word
            for item in case.cluster["items"]
            if item["kind"] != "CSIDriver"
            for word in (item["metadata"]["name"], item["metadata"].get("uid"))
            if word and word not in ("default", "kube-system") and f'"{word}"' in text
        }
        looked_at += len(case.cluster["items"])
        assert left == set(), name
    assert looked_at > 3000


def test_the_same_key_gives_the_same_cluster_and_another_another() -> None:
    snapshot = Snapshot.of(golden.read("mixed-1").cluster["items"])
    redacted, same = (list(kpolicy.redact(snapshot, KEY)) for _ in range(2))
    other = list(kpolicy.redact(snapshot, KEY[::-1]))
    assert redacted == same
    assert [item["metadata"]["name"] for item in redacted] != [
        item["metadata"]["name"] for item in other
    ]
    assert len(redacted) > 20
