"""What `rules.json` must hold: every expression rule of `rules.yaml`, as the engine reads it.

Owns the two paths. The engine's tests know no compiler, so that what it makes of a policy is kept
beside them, and a test here says when it is out of date.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

from kpolicy.policy.compile import compile_policy
from kpolicy.policy.source import Source

FOLDER: Final = Path(__file__).parents[2] / "rust/kpolicy-engine/tests/worlds"
WRITTEN: Final = FOLDER / "rules.yaml"
COMPILED: Final = FOLDER / "rules.json"


def compiled() -> str:
    """One rule a line, so that a change is easy to read."""
    found = compile_policy([Source(WRITTEN.name, WRITTEN.read_text())])
    if found.program is None:
        raise ValueError(f"{WRITTEN}: {found.diagnostics}")
    program: dict[str, Any] = json.loads(found.program.bytes)
    profile = program["profiles"][0]
    parts = []
    for part in ("filters", "scores"):
        rules = [rule for rule in profile[part] if "expression" in rule]
        lines = ",\n".join(json.dumps(rule, sort_keys=True) for rule in rules)
        parts.append(f'"{part}": [\n{lines}\n]')
    parts += [f'"{name}": {json.dumps(program[name])}' for name in ("policies", "limits")]
    return "{" + ",\n".join(parts) + "}\n"
