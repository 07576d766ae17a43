"""The schema of kpolicy.toml has the keys that lint reads, and their levels."""

from __future__ import annotations

from kpolicy.cli.settings_schema import SETTINGS_SCHEMA
from kpolicy.cli.verbs.lint_settings import _KEYS, _LEVELS


def test_the_schema_has_the_keys_and_levels_of_lint() -> None:
    lint = SETTINGS_SCHEMA["properties"]["lint"]
    assert lint["properties"].keys() == _KEYS
    assert lint["properties"]["levels"]["additionalProperties"]["enum"] == list(_LEVELS)
