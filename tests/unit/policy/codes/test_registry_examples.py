"""The examples on the pages of codes: the bad example has the finding, the good one does not."""

from __future__ import annotations

import pytest

from kpolicy.policy.codes import Page
from kpolicy.policy.codes.registry import pages
from kpolicy.policy.compile import compile_policy
from kpolicy.policy.yaml.source import Source
from tests.unit.policy.policies import policy

# Why an example cannot be tried as it stands.
NOT_TRIED = {
    "KP101": "tested with whole files",
    "KP105": "of metadata",
    "KP106": "of metadata",
    "KP108": "tested with whole files",
    "KP109": "a file of a size",
    "KP112": "shortened",
    "KP115": "a part of a rule",
    "KP116": "two documents",
    "KP117": "no profile",
    "KP119": "of `kpolicy fmt`",
    "KP120": "of metadata",
    "KP122": "a part of a profile",
    "KP124": "a value given by hand",
    "KP125": "of a ConfigMap",
    "KP131": "of what a process allows",
    "KP132": "of what a process allows",
    "KP133": "of what a process allows",
    "KP135": "of tenants",
    "KP139": "of what a process says",
    "KP136": "of tenants",
    "KP142": "a mount",
    "KP208": "no bool",
    "KP304": "needs a snapshot",
    "KP312": "needs a snapshot",
    "KP328": "needs a snapshot",
    "KP501": "of tests",
    "KP502": "of tests",
    "KP503": "of tests",
    "KP504": "of snapshots",
    "KP510": "of scenarios",
    "KP511": "of scenarios",
    "KP512": "of scenarios",
    "KP601": "of legacy files",
    "KP602": "of legacy files",
    "KP603": "of legacy files",
    "KP604": "of configurations",
    "KP605": "of `kpolicy convert`",
    "KP606": "of configurations",
    "KP607": "of legacy files",
    "KP608": "of `kpolicy convert`",
}
TRIED = [page for page in pages().values() if page.code not in NOT_TRIED]


def codes(example: str) -> set[str]:
    """An example is a part of a spec, or the expression of a predicate."""
    first = example.split("\n", maxsplit=1)[0]
    is_spec = first.split(":")[0].isalpha() and ":" in first
    text = example
    if first.startswith("spec: {"):
        text = first.removeprefix("spec: {").removesuffix("}")
    elif not is_spec:
        text = f"predicates:\n  - name: a\n    expression: |\n      {example}"
    found = compile_policy([Source("p.yaml", policy(text, base=""))]).diagnostics
    return {finding.code for finding in found}


def test_what_is_not_tried_has_a_reason() -> None:
    assert set(NOT_TRIED) <= set(pages())
    assert len(TRIED) >= 35


@pytest.mark.parametrize("page", TRIED, ids=lambda page: page.code)
def test_the_bad_example_is_found_and_the_good_one_is_not(page: Page) -> None:
    assert page.code in codes(page.bad)
    assert page.code not in codes(page.good)
    assert not codes(page.good) & {"KP101", "KP102", "KP110", "KP201", "KP203", "KP204"}
