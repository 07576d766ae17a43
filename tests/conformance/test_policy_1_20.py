"""Every legacy Policy document: refused, or decided by as kube-scheduler 1.20 did."""

from __future__ import annotations

from functools import cache

import pytest

from tests.conformance.legacy_comparison import DEVIATIONS, Comparison, compare
from tests.conformance.legacy_golden import Document, ask, documents

DOCUMENTS = {document.name: document for document in documents()}
# Refused here too, with these messages.
REFUSED = {
    "X01": "KP113",
    "X02": "KP103",
    "X04": "KP115",
    "X05": "KP113",
    "X06": "KP603",
    "X07": "KP603",
    "X09": "KP113",
    "X10": "KP104",
    "X11": "KP113",
    "X12": "KP113",
    "X13": "KP603",
    "X14": "KP103",
}
# Refused by 1.20, but read here as their authors meant them, with these messages.
KINDER = {
    "F04": "KP602",
    "F05": "KP602",
    "F06": "KP602",
    "F11": "KP102",
    "F15": "KP602",
    "F16": "KP602",
    "F21": "KP602",
    "X03": "KP602",
    "X08": "KP602",
    "X15": "KP602",
}
JUDGED = sorted(name for name, document in DOCUMENTS.items() if document.worlds)
# No release, and the one that was recorded. What differs only where none is pinned, and there only.
RELEASES = ("", "1.20")
UNPINNED_ONLY = {"spreading", "balance", "argument"}
PINNED_ONLY = {"topology"}


@cache
def compared(name: str, release: str) -> Comparison:
    document: Document = DOCUMENTS[name]
    compiled = document.compiled(release)
    found = Comparison()
    for world in document.worlds:
        found.add(compare(name, ask(compiled, world), world, is_pinned=bool(release)))
    return found


def test_every_document_is_refused_or_judged() -> None:
    assert len(DOCUMENTS) == 41
    assert (len(REFUSED), len(KINDER), len(JUDGED)) == (12, 10, 19)
    assert sorted([*REFUSED, *KINDER, *JUDGED]) == sorted(DOCUMENTS)


@pytest.mark.parametrize("name", REFUSED)
def test_what_no_release_took_is_refused(name: str) -> None:
    compiled = DOCUMENTS[name].compiled()
    assert compiled.program is None
    assert REFUSED[name] in {diagnostic.code for diagnostic in compiled.diagnostics}


@pytest.mark.parametrize("name", KINDER)
def test_what_1_20_refused_is_read_as_it_was_meant(name: str) -> None:
    compiled = DOCUMENTS[name].compiled()
    assert compiled.program is not None
    assert KINDER[name] in {diagnostic.code for diagnostic in compiled.diagnostics}


@pytest.mark.parametrize("release", RELEASES)
@pytest.mark.parametrize("name", JUDGED)
def test_every_verdict_and_score_agrees_or_is_explained(name: str, release: str) -> None:
    found = compared(name, release).differences
    assert found == [], f"{len(found)} differences, first: " + "\n".join(found[:20])


@pytest.mark.parametrize(
    ("release", "counts"),
    [
        (
            "",
            {
                "worlds": 38,
                "pods": 494,
                "verdicts": 6163,
                "raw": 12961,
                "weighted": 12274,
                "best": 126,
            },
        ),
        (
            "1.20",
            {
                "worlds": 38,
                "pods": 494,
                "verdicts": 6163,
                "raw": 15419,
                "weighted": 14752,
                "best": 143,
            },
        ),
    ],
)
def test_so_much_is_compared_and_every_deviation_occurs(
    release: str, counts: dict[str, int]
) -> None:
    found = Comparison()
    for name in JUDGED:
        found.add(compared(name, release))
    assert dict(found.counts) == counts
    never = PINNED_ONLY if not release else UNPINNED_ONLY
    assert set(found.deviations) == set(DEVIATIONS) - never


def test_ranked_weights_rank_on_the_scale_they_were_written_for() -> None:
    document = DOCUMENTS["F23"]
    compiled, nodes = document.compiled("1.16"), 0
    order = [
        "NodePreferAvoidPods",
        "NodeAffinity",
        "InterPodAffinity",
        "NodeResourcesMostAllocated",
        "ImageLocality",
    ]
    weights = dict(zip(order, (161051, 14641, 1331, 121, 11), strict=True))
    for world in document.worlds:
        for answer in ask(compiled, world).answers.values():
            feasible = {node["name"]: node for node in answer["nodes"] if "total" in node}
            nodes += len(feasible)
            ranks = {
                name: [node["weighted"].get(rule, 0) for rule in order]
                for name, node in feasible.items()
            }
            for rank in ranks.values():
                parts = zip(order, rank, strict=True)
                assert all(
                    part in range(0, 11 * weights[rule], weights[rule]) for rule, part in parts
                )
            highest = max(ranks.values(), default=None)
            best = sorted(name for name, rank in ranks.items() if rank == highest)
            assert sorted(answer.get("best") or ()) == best
    assert nodes == 237
