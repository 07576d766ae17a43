"""How each shipped rule is asked of all nodes: `python -m benches.evaluation_plans`.

Lists every rule of every shipped policy, and the expressions that decide as built-ins
do. `columns` is kernels over all nodes at once, `classes` once for each set of nodes that read the
same, `nodes` once for each node. The engine says which; nothing is timed.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from benches.equivalents import EQUIVALENTS, named, policy
from kpolicy.engine import evaluation_plan
from kpolicy.offline.reports.columns import columns
from kpolicy.policy.compile import compile_policy

_POLICIES: Final = Path(__file__).parent.parent / "policies"
_BUILTINS: Final = "(as built-ins)"


@dataclass(frozen=True, slots=True)
class Asked:
    """One rule, and the facts because of which its plan is not cheaper."""

    policy: str
    rule: str
    evaluation: str
    because: tuple[str, ...]


def shipped() -> Iterator[Asked]:
    for path in sorted(_POLICIES.glob("*.yaml")):
        if not path.name.endswith(".test.yaml"):
            yield from _of_text(path.stem, path.read_text(encoding="utf-8"))


def as_builtins() -> Iterator[Asked]:
    for equivalent in EQUIVALENTS:
        [asked] = _of_text(_BUILTINS, policy(named("x", equivalent.expression)))
        yield replace(asked, rule=equivalent.about)


def _of_text(name: str, text: str) -> Iterator[Asked]:
    program = compile_policy(text, every_pod=True).program
    assert program is not None, name
    [profile] = json.loads(program.bytes)["profiles"]
    for rule in (*profile["filters"], *profile["scores"]):
        if "expression" in rule:
            yield _asked(name, rule)


def _asked(policy_name: str, rule: dict[str, Any]) -> Asked:
    evaluation, because = evaluation_plan(json.dumps(rule["expression"]).encode())
    return Asked(policy_name, rule["name"], evaluation, tuple(because))


def table(rows: list[Asked]) -> list[str]:
    head = ["policy", "rule", "asked by", "because of"]
    lines = [[row.policy, row.rule, row.evaluation, ", ".join(row.because)] for row in rows]
    return columns([head, *lines])


if __name__ == "__main__":
    print("\n".join(table([*shipped(), *as_builtins()])))
