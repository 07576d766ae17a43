"""Makes what the engine's tests read: `rules.json`, every expression rule of `rules.yaml` and every
expression of `victims.yaml`, and `policies.json`, every shipped policy.

The engine's tests have no compiler, so the compiled form is kept beside them. A test fails when it
is out of date.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

import yaml

from kpolicy.policy.compile import compile_policy, shipped_names, shipped_source
from kpolicy.policy.yaml.source import Source

FOLDER: Final = Path(__file__).parents[2] / "rust/kpolicy-engine/tests/worlds"
WRITTEN: Final = FOLDER / "rules.yaml"
VICTIMS: Final = FOLDER / "victims.yaml"
COMPILED: Final = FOLDER / "rules.json"
SHIPPED: Final = FOLDER.parent / "costs/policies.json"


def compiled() -> str:
    """One rule a line, so that a change is easy to read."""
    program = _program(Source(WRITTEN.name, WRITTEN.read_text()))
    profile = program["profiles"][0]
    parts = []
    for part in ("filters", "scores"):
        rules = [rule for rule in profile[part] if "expression" in rule]
        lines = ",\n".join(json.dumps(rule, sort_keys=True) for rule in rules)
        parts.append(f'"{part}": [\n{lines}\n]')
    lines = ",\n".join(json.dumps(victim, sort_keys=True) for victim in _victims())
    parts.append(f'"victims": [\n{lines}\n]')
    parts += [f'"{name}": {json.dumps(program[name])}' for name in ("policies", "limits")]
    return "{" + ",\n".join(parts) + "}\n"


def shipped() -> str:
    """The program of every shipped policy, one a line."""
    programs = {name: _program(shipped_source(name)) for name in shipped_names()}
    lines = (
        f"{json.dumps(name)}: {json.dumps(programs[name], sort_keys=True)}" for name in programs
    )
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _victims() -> list[Any]:
    """All of them as if by one policy, the first."""
    policy = {
        "apiVersion": "kpolicy.dev/v1alpha1",
        "kind": "SchedulingPolicy",
        "metadata": {"name": "victims"},
    }
    made = []
    for number, text in enumerate(yaml.safe_load(VICTIMS.read_text())):
        spec = {
            "profiles": [{"schedulerName": "default-scheduler"}],
            "base": "none",
            "preemption": {"victims": {"expression": text}},
        }
        program = _program(Source(f"victims-{number}", json.dumps({**policy, "spec": spec})))
        made.append(program["profiles"][0]["preemption"]["victims"])
    return made


def _program(source: Source) -> dict[str, Any]:
    found = compile_policy([source])
    if found.program is None:
        raise ValueError(f"{source.name}: {found.diagnostics}")
    program: dict[str, Any] = json.loads(found.program.bytes)
    return program
