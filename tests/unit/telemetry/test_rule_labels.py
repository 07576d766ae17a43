"""Labels of rules: bounded, however many tenants there are and whatever they call their rules."""

from __future__ import annotations

from kpolicy.telemetry.limits import TENANTS_NAMED_MAX
from kpolicy.telemetry.rule_labels import OTHER_TENANTS, RuleLabels

TENANTS, RENAMED = 1_000, 64


def test_rules_of_the_operator_keep_their_names() -> None:
    labels = RuleLabels()
    names = ["NodeResourcesFit", "off-spot", "tenants"]
    assert [labels.of(name) for name in names] == names


def test_a_tenant_has_one_label_whatever_it_calls_its_rules() -> None:
    labels = RuleLabels()
    rules = [f"red/rule-{at}" for at in range(RENAMED)]
    assert {labels.of(rule) for rule in [*rules, "tenant:red"]} == {"tenant:red"}
    assert labels.distinct([*rules, "NodeName"]) == ["NodeName", "tenant:red"]


def test_tenants_have_a_bounded_number_of_labels_that_add_up() -> None:
    labels = RuleLabels()
    counts: dict[tuple[str, ...], float] = {
        (f"team-{tenant}/rule-{at}", "kpolicy"): 1.0
        for tenant in range(TENANTS)
        for at in range(RENAMED)
    }
    shown = labels.added_up(counts)
    assert len(shown) == TENANTS_NAMED_MAX + 1
    assert shown["tenant:team-0", "kpolicy"] == RENAMED
    assert shown[OTHER_TENANTS, "kpolicy"] == (TENANTS - TENANTS_NAMED_MAX) * RENAMED
    assert labels.of("team-0/again") == "tenant:team-0", "a name is kept"
    assert sum(shown.values()) == len(counts)
