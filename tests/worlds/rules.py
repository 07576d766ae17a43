"""Makes what the engine's tests read: `rules.json`, every expression rule of `rules.yaml` and every
expression of `victims.yaml` and `allocations.yaml`, and `policies.json`, every shipped policy.

The engine's tests have no compiler, so the compiled form is kept beside them. A test fails when it
is out of date.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final

import yaml

from kpolicy.policy.compile import compile_policy, shipped_names, shipped_source
from kpolicy.policy.yaml.source import Source

FOLDER: Final = Path(__file__).parents[2] / "rust/kpolicy-engine/tests/worlds"
WRITTEN: Final = FOLDER / "rules.yaml"
VICTIMS: Final = FOLDER / "victims.yaml"
ALLOCATIONS: Final = FOLDER / "allocations.yaml"
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
    lines = ",\n".join(json.dumps(rule, sort_keys=True) for rule in _allocations())
    parts.append(f'"devices": [\n{lines}\n]')
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
    texts = yaml.safe_load(VICTIMS.read_text())
    specs = ({"preemption": {"victims": {"expression": text}}} for text in texts)
    return [profile["preemption"]["victims"] for profile in _profiles("victims", specs)]


def _allocations() -> list[Any]:
    texts = enumerate(yaml.safe_load(ALLOCATIONS.read_text()), start=1)
    rules = ({"name": f"a{at}", "expression": text, "weight": at} for at, text in texts)
    allocates = {"predicates": [{"builtin": "DynamicResources"}]}
    specs = ({**allocates, "devices": {"score": [rule]}} for rule in rules)
    return [profile["devices"][0] for profile in _profiles("allocations", specs)]


def _profiles(name: str, specs: Iterable[dict[str, Any]]) -> Iterator[Any]:
    """The profile of a policy of its own for each."""
    for number, more in enumerate(specs):
        policy = {
            "apiVersion": "kpolicy.dev/v1alpha1",
            "kind": "SchedulingPolicy",
            "metadata": {"name": name},
            "spec": {
                "profiles": [{"schedulerName": "default-scheduler"}],
                "base": "none",
                **more,
            },
        }
        yield _program(Source(f"{name}-{number}", json.dumps(policy)))["profiles"][0]


def _program(source: Source) -> dict[str, Any]:
    found = compile_policy([source])
    if found.program is None:
        raise ValueError(f"{source.name}: {found.diagnostics}")
    program: dict[str, Any] = json.loads(found.program.bytes)
    return program
