"""Selectors of devices for `rust/kpolicy-engine/tests/hostile`, whose tests have no compiler."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

from kpolicy.engine.device_selectors import compile_selector

COMPILED: Final = (
    Path(__file__).parents[2] / "rust/kpolicy-engine/tests/hostile/device_selectors.json"
)
# What an API server takes of a selector at most.
_BYTES_MAX: Final = 10 << 10
_NUMBERS: Final = str(list(range(60)))
_TEXT: Final = "a" * 4_000

# By name. All but `other`, `missing`, `refusing` and the last of `many` accept every device.
SELECTORS: Final = {
    "ordinary": "device.driver == 'd.x' && device.attributes['d.x'].model == 'a'",
    "driver": "device.driver == 'd.x'",
    "other": "device.attributes['d.x'].model == 'b'",
    "missing": "device.attributes['d.x'].speed > 0",
    "whole": "device.attributes['d.x'].all(name, name != 'speed')",
    "refusing": "device.attributes['d.x'].index == -1",
    "loops": f"{_NUMBERS}.all(x, {_NUMBERS}.all(y, {_NUMBERS}.all(z, x + y + z >= 0)))",
    "pattern": f"!'{_TEXT}'.matches('^(a?a?a?a?)*b$')",
    "wide": " && ".join(["device.attributes['d.x'].index >= 0"] * 200),
    **{f"many-{each:02}": f"device.attributes['d.x'].index > {each - 31}" for each in range(32)},
}


def compiled() -> str:
    """One selector a line, so that a change is easy to read."""
    lines = (json.dumps(_compiled(name, text), sort_keys=True) for name, text in SELECTORS.items())
    return "[\n" + ",\n".join(lines) + "\n]\n"


def _compiled(name: str, text: str) -> dict[str, Any]:
    assert len(text) <= _BYTES_MAX, name
    _, expression, problem = compile_selector(text)
    assert not problem, f"{name}: {problem}"
    return {"name": name, "text": text, "expression": json.loads(expression)}
