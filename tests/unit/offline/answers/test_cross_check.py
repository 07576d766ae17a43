"""cel-python as a second evaluator: what is compared, and which differences are known."""

from __future__ import annotations

import re
import subprocess
import sys
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

import pytest

from kpolicy.offline.answers.cel_python import KNOWN_DIFFERENCES
from kpolicy.offline.answers.cross_check import CrossCheck, cross_check
from kpolicy.offline.answers.evaluate import Evaluating
from kpolicy.offline.snapshots.cluster_snapshot import Snapshot
from tests.conformance.cel.random_text import expression, world
from tests.conformance.cel.suite import cases, variable_json
from tests.conformance.cel.test_conformance import DATA, G1

_SHOP = Path(__file__).parents[4] / "docs/guides/shop.yaml"
# By expression, the difference that explains why the two do not agree.
_KNOWN = {
    "1 == 1.0": "equality-of-types",
    "[1, 2].exists(x, x == 2.0)": "equality-of-types",
    "1 < 2.0": "order-of-numbers",
    "(1.0 + 1.0) / (1.0 - 1.0) > 1.0": "division-of-doubles",
    "[1, 2][-1] == 2": "negative-index",
    "{1u: 'a', 2: 'b'}[2u]": "index-of-double",
    "string(1 == 1)": "text-of-bool",
    "int(-9223372036854775808.0)": "int-of-double",
    "('a' + 'b').contains('a' + '')": "contains-of-sum",
    "false && [1].exists_one(x, int('') == x)": "errors-beside-logic",
    r"'\?' == '?'": "escapes",
    "timestamp(5) == timestamp(5)": "timestamp-of-int",
    "string(timestamp('9999-12-31T23:59:59.999999999Z'))": "times",
    "duration('200000000000s') > duration('1s')": "long-durations",
}


def _checked(text: str, variables: dict[str, Any] | None = None) -> CrossCheck:
    work = Evaluating()
    values = variables or {}
    return cross_check(text, lambda part: work.evaluate(part, values), tuple(values))


@pytest.mark.parametrize("text", ["1 + 2 == 3", "[3, 1].map(x, x * 2)", "'a' in {'a': 1}", "1 / 0"])
def test_cel_python_gives_the_same(text: str) -> None:
    assert _checked(text) == CrossCheck(text)


@pytest.mark.parametrize(("text", "known"), _KNOWN.items())
def test_a_known_difference_names_its_clause(text: str, known: str) -> None:
    difference = _checked(text).difference
    assert difference is not None
    assert difference.known is not None
    assert difference.known.id == known
    assert difference.known.clause in str(difference)


def test_every_known_difference_has_an_example() -> None:
    assert {known.id for known in KNOWN_DIFFERENCES} == set(_KNOWN.values())


def test_the_smallest_part_that_differs_is_named() -> None:
    difference = _checked("1 + 1 == 2 && string(size('ab') == 2) == 'true'").difference
    assert difference is not None
    assert difference.part == "string(size('ab') == 2)"


def test_an_unknown_difference_is_a_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kpolicy.offline.answers.cel_python.KNOWN_DIFFERENCES", ())
    found = _checked("string(true)")
    assert found.is_finding
    assert "no known difference explains this" in str(found)
    assert "known" not in found.line()["difference"]


def test_what_only_kpolicy_knows_is_given_as_values() -> None:
    snapshot = Snapshot.load(_SHOP)
    work = Evaluating(snapshot)
    text = "pod.labels['app'] == 'web' && cpu('500m') + node.podCount > 1 || node.labels['?'] == ''"
    nodes = [o for _, o in snapshot.objects() if o["kind"] == "Node"]
    node = nodes[0]["metadata"]["name"]
    found = cross_check(text, lambda part: work.evaluate(part, pod="shop/web-1", node=node))
    assert found.difference is None
    assert found.compared.count("kpolicy_part_") == 4
    assert "pod" not in found.compared.replace("kpolicy_part_", "")


@pytest.mark.parametrize(
    "text", ["cpu('1')", "[1].sum()", "optional.of(1).orValue(2)", "{'a': 1}.?a", "1 +", "1 + 'a'"]
)
def test_what_is_not_in_cel_python_is_not_compared(text: str) -> None:
    assert _checked(text).line() == {"compared": None}


@pytest.mark.slow
def test_no_difference_on_the_conformance_suite_and_on_random_text_is_unknown() -> None:
    chance = Random(11)
    texts = [
        (case.expression, {name: variable_json(value) for name, value in case.variables.items()})
        for file in G1
        for case in cases(DATA, file)
        if not case.unsupported
    ]
    texts += [(expression(chance), world(chance)) for _ in range(1500)]
    unknown, counts = [], Counter[str]()
    for text, variables in texts:
        found = _checked(text, variables)
        counts["compared" if found.compared else "skipped"] += 1
        if found.is_finding:
            unknown.append(f"{text}: {found}")
    assert unknown == []
    assert counts["compared"] > 1800, counts


def test_cel_python_is_imported_only_for_a_cross_check() -> None:
    program = (
        "import sys; from kpolicy.cli import main; main(['eval', '1 + 1']); "
        "assert 'celpy' not in sys.modules; main(['eval', '--cross-check', '1 + 1']); "
        "assert 'celpy' in sys.modules"
    )
    subprocess.run([sys.executable, "-c", program], check=True, capture_output=True)


def test_the_page_lists_the_known_differences() -> None:
    page = (Path(__file__).parents[4] / "docs/cross-check.md").read_text(encoding="utf-8")
    rows = [
        f"| `{known.id}` | {known.summary} | {known.clause} | {known.follows} |"
        for known in KNOWN_DIFFERENCES
    ]
    assert [line for line in page.splitlines() if line.startswith("| `")] == rows


def test_the_clauses_name_cases_that_exist() -> None:
    ids = [case.id for file in G1 for case in cases(DATA, file)]
    for known in KNOWN_DIFFERENCES:
        for named in re.findall(r"[a-z_]+/[A-Za-z_/]+", known.clause.partition("conformance: ")[2]):
            assert any(f"{identity}/".startswith(f"{named}/") for identity in ids), named
