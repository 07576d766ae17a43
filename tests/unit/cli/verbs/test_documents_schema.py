"""`kpolicy schema`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from kpolicy import cli
from kpolicy.cli.schemas import SCHEMA_KINDS


def test_the_schema_describes_the_document(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["schema"]) == 0
    schema = json.loads(capsys.readouterr().out)
    assert schema["$id"] == "https://kpolicy.dev/schema/v1alpha1/schedulingpolicy.json"
    assert set(schema["required"]) == {"apiVersion", "kind", "metadata"}
    spec = schema["$defs"]["Spec"]
    assert {"predicates", "priorities", "matchConditions", "tieBreak"} <= set(spec["properties"])
    assert spec["additionalProperties"] is False
    assert schema["$defs"]["Variable"]["properties"]["expression"]["format"] == "cel"


def test_every_field_of_every_schema_has_a_description(capsys: pytest.CaptureFixture[str]) -> None:
    fields = 0
    without = []
    for kind in SCHEMA_KINDS:
        assert cli.main(["schema", "--kind", kind]) == 0
        schema = json.loads(capsys.readouterr().out)
        for path, field in fields_of(schema, kind):
            fields += 1
            if not field.get("description"):
                without.append(path)
    assert fields > 450
    assert without == []


def fields_of(node: Any, path: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every property in a schema, wherever it stands."""
    if isinstance(node, list):
        for index, item in enumerate(node):
            yield from fields_of(item, f"{path}/{index}")
    elif isinstance(node, dict):
        properties = node.get("properties", {})
        yield from ((f"{path}.{name}", field) for name, field in properties.items())
        for key, value in node.items():
            yield from fields_of(value, f"{path}/{key}")
