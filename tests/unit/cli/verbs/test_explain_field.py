"""`kpolicy explain-field`."""

from __future__ import annotations

import json

import pytest

from kpolicy import cli
from kpolicy.cli.schemas import SCHEMA_KINDS, schema_of
from kpolicy.policy.models.field_descriptions import FIELD_DESCRIPTIONS
from kpolicy.policy.reference.fields import all_fields, field_at


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
        ("tests.expect.node", "it is a field with --kind PolicyTest"),
    ],
)
def test_a_field_that_is_not_there(
    path: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["explain-field", path]) == 2
    assert message in capsys.readouterr().err


def test_every_field_of_every_kind_that_users_write_can_be_asked_for() -> None:
    asked = 0
    for kind in SCHEMA_KINDS[:-1]:
        schema = schema_of(kind)
        for path, field in all_fields(schema):
            found_path, found = field_at(schema, path)
            assert (found_path, found.meaning) == (path, field.meaning)
            assert found.meaning or path.endswith("NAME"), (kind, path)
            asked += 1
    assert asked > 550


@pytest.mark.parametrize(
    ("kind", "path", "shown"),
    [
        ("PolicyTest", "tests[0].expect.filters.n1.rejectedBy", "The first rule that rejects"),
        ("PolicyTest", "nodes.allocatable", "map of string or number"),
        ("SchedulerConfiguration", "port", "integer from 0 to 65,535"),
        ("KubeSchedulerConfiguration", "profiles.plugins.multiPoint.enabled", "list of objects"),
        ("Settings", "lint.levels", "map of error | warning | info | off"),
    ],
)
def test_other_kinds_have_fields_too(
    kind: str, path: str, shown: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["explain-field", "--kind", kind, path]) == 0
    assert shown in capsys.readouterr().out


def test_a_field_can_be_read_by_programs(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["explain-field", "spec.priorities", "--output", "json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["document"], document["field"]) == ("SchedulingPolicy", "spec.priorities")
    fields = {field["name"]: field for field in document["fields"]}
    assert fields["weight"]["default"] == 1
    assert cli.main(["explain-field", "-o", "jsonl"]) == 0
    [line] = capsys.readouterr().out.splitlines()
    assert json.loads(line)["field"] == ""
