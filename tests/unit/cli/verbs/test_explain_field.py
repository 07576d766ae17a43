"""`kpolicy explain-field`."""

from __future__ import annotations

import pytest

from kpolicy import cli
from kpolicy.policy.models.field_descriptions import FIELD_DESCRIPTIONS


def test_a_field_has_type_default_and_meaning(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["explain-field", "spec.priorities[0].weight"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("spec.priorities.weight: integer from 0 to ")
    assert "; default 1\n" in out
    assert " ".join(out.split("\n\n")[1].split()) == FIELD_DESCRIPTIONS["Priority"]["weight"]


@pytest.mark.parametrize(
    ("path", "model"),
    [
        ("", "SchedulingPolicy"),
        ("spec", "Spec"),
        ("spec.predicates", "Predicate"),
        ("spec.params.zones", "Param"),
        ("spec.preemption.victims", "Victims"),
        ("spec.profiles.overrides.priorities", "PriorityOverride"),
    ],
)
def test_what_has_fields_lists_them(
    path: str, model: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["explain-field", path]) == 0
    shown = capsys.readouterr().out.split("fields:\n")[1]
    names = [line.split()[0] for line in shown.splitlines() if line[2] != " "]
    assert set(names) == FIELD_DESCRIPTIONS[model].keys()


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("spec.priorities.wieght", "did you mean `weight`?"),
        ("spec.zzzzzz", "its fields are profiles, base"),
        ("spec.base.name", "`spec.base` has no fields"),
    ],
)
def test_a_field_that_is_not_there(
    path: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["explain-field", path]) == 2
    assert message in capsys.readouterr().err
