"""Runs the checks of lint on one expression in a policy that is correct otherwise."""

from __future__ import annotations

import json

from kpolicy.policy.compile import compile_policy
from kpolicy.policy.yaml.source import Source
from tests.unit.policy.policies import policy


def findings(spec: str) -> list[tuple[str, str]]:
    """(code, what is underlined) of each finding; an error of the test's own text ends it."""
    text = policy(spec)
    lines = text.splitlines()
    found = []
    for finding in compile_policy([Source("p.yaml", text)]).diagnostics:
        assert finding.code not in ("KP110", "KP201", "KP204"), finding
        place = finding.place
        assert place is not None
        end = place.end_column if place.end_line == place.line else len(lines[place.line - 1]) + 1
        found.append((finding.code, lines[place.line - 1][place.column - 1 : end - 1]))
    return found


def of_predicate(expression: str, *more: str) -> list[tuple[str, str]]:
    fields = "".join(f", {field}" for field in more)
    return findings(f"predicates: [{{name: rule, expression: {_flow(expression)}{fields}}}]")


def of_priority(expression: str, *more: str) -> list[tuple[str, str]]:
    fields = "".join(f", {field}" for field in more)
    return findings(f"priorities: [{{name: rule, expression: {_flow(expression)}{fields}}}]")


def of_message(expression: str, message: str) -> list[tuple[str, str]]:
    return of_predicate(expression, f"messageExpression: {_flow(message)}")


def of_two(first: str, second: str) -> list[tuple[str, str]]:
    rules = f"{{name: a, expression: {_flow(first)}}}, {{name: b, expression: {_flow(second)}}}"
    return findings(f"predicates: [{rules}]")


def _flow(expression: str) -> str:
    """In double quotes; tests keep to characters that stay as they are."""
    assert '"' not in expression
    return json.dumps(expression, ensure_ascii=False)
