"""Editors show what a field means: none lacks a description, and none is described in vain."""

from __future__ import annotations

import json

import pytest

from kpolicy import cli
from kpolicy.policy.models.field_descriptions import FIELD_DESCRIPTIONS


def test_each_field_of_a_policy_has_a_description(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["schema"]) == 0
    schema = json.loads(capsys.readouterr().out)
    models = {schema["title"]: schema, **schema["$defs"]}
    fields = {
        (name, field): text.get("description", "")
        for name, model in models.items()
        for field, text in model.get("properties", {}).items()
    }
    assert len(fields) >= 110
    assert [field for field, text in fields.items() if not text.endswith(".")] == []
    described = {(name, field) for name, texts in FIELD_DESCRIPTIONS.items() for field in texts}
    assert described == fields.keys()
