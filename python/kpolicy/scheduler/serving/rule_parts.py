"""The expression of a rule of the program in force, and what each part of it gave."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from kpolicy.offline.answers.expression_values import steps
from kpolicy.offline.reports.steps_text import steps_text

_VARIABLES: Final = "variables."


def expression_of(program: bytes, rule: str) -> dict[str, Any] | None:
    """Of the first profile that has the rule: profiles of one policy share its rules."""
    for profile in json.loads(program)["profiles"]:
        for entry in (*profile["filters"], *profile["scores"]):
            if entry["name"] == rule and "expression" in entry:
                found: dict[str, Any] = entry["expression"]
                return found
    return None


def parts_text(expression: Mapping[str, Any], trace: Mapping[str, Any]) -> list[str]:
    """A line for each part, below the part that it belongs to."""
    sources: Mapping[str, str] = expression["sources"]
    variables = {name.removeprefix(_VARIABLES): text for name, text in sources.items() if name}
    return steps_text(steps(sources[""], expression, trace, variables))
