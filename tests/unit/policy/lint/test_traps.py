"""KP326 and KP327: shares of whole numbers, and quantities compared as text."""

from __future__ import annotations

import pytest

from kpolicy.policy.compile import compile_policy
from kpolicy.policy.format.fixes import fixed
from kpolicy.policy.yaml.source import Source
from tests.unit.policy.lint.judged import of_predicate, of_priority
from tests.unit.policy.policies import policy

ALLOCATABLE = "node.allocatable('cpu')"
SHARE = "node.requested('cpu') / node.allocatable('cpu')"


@pytest.mark.parametrize(
    ("expression", "is_found"),
    [
        (f"{SHARE} * 100", True),
        (f"100 * ({SHARE})", True),
        ("node.podCount / node.podLimit", True),
        (f"(node.allocatable('cpu') - node.requested('cpu')) / {ALLOCATABLE} * 100", True),
        (f"100 * (node.allocatable('cpu') - node.requested('cpu')) / {ALLOCATABLE}", False),
        ("(node.free('cpu') - node.free('memory')) / node.podLimit", False),
        ("1 / 2 * node.podCount", True),
        ("7 / 0 * node.podCount", False),
        ("4 / 2 * node.podCount", False),
        ("100 * node.requested('cpu') / node.allocatable('cpu')", False),
        ("100.0 * ratio(node.requested('cpu'), node.allocatable('cpu'))", False),
        ("node.free('memory') / node.podLimit", False),
        ("node.free('cpu') / 1000 * 10", False),
        ("node.allocatable('cpu') / node.podCount", False),
    ],
)
def test_a_share_of_whole_numbers_is_reported(expression: str, is_found: bool) -> None:
    found = dict(of_priority(expression, "normalize: {method: max}"))
    assert ("KP326" in found) is is_found


@pytest.mark.parametrize(
    ("expression", "is_found"),
    [
        ("label(node, 'memory') > '16Gi'", True),
        ("'500m' <= label(node, 'cpu')", True),
        ("label(node, 'count') < '9'", True),
        ("label(node, 'release') < 'v9'", False),
        ("label(node, 'memory') == '16Gi'", False),
        ("label(node, 'a') < label(node, 'b')", False),
        ("quantity(label(node, 'memory')).compareTo(quantity('16Gi')) > 0", False),
    ],
)
def test_a_quantity_compared_as_text_is_reported(expression: str, is_found: bool) -> None:
    assert ("KP327" in dict(of_predicate(expression))) is is_found


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (f"{SHARE} * 100", "100 * node.requested('cpu') / node.allocatable('cpu')"),
        (f"({SHARE}) * 100", "100 * node.requested('cpu') / node.allocatable('cpu')"),
        (
            f"({ALLOCATABLE} - node.requested('cpu')) / {ALLOCATABLE} * 100",
            f"100 * ({ALLOCATABLE} - node.requested('cpu')) / {ALLOCATABLE}",
        ),
        (f"5 + 100 * ({SHARE})", "5 + 100 * node.requested('cpu') / node.allocatable('cpu')"),
        (
            "label(node, 'm') < '9Gi' ? 100 : 0",
            "quantity(label(node, 'm')).compareTo(quantity('9Gi')) < 0 ? 100 : 0",
        ),
    ],
)
def test_the_fix_is_asked_for_and_leaves_nothing_to_report(before: str, after: str) -> None:
    text = policy(
        f'priorities:\n  - {{name: a, expression: "{before}", normalize: {{method: max}}}}'
    )
    source = Source("p.yaml", text)
    assert fixed([source], compile_policy).sources[0].decoded == text
    done = fixed([source], compile_policy, is_unsafe=True)
    assert done.sources[0].decoded == text.replace(before, after)
    assert done.compiled.program is not None
    codes = {finding.code for finding in done.compiled.diagnostics}
    assert not codes & {"KP326", "KP327"}
