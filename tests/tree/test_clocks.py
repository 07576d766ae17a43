"""Wall time may jump: it is written where the API wants dates, and never counted with."""

from __future__ import annotations

import ast
from pathlib import Path

from tests.tree.sources import ROOT, with_suffix

# What reads the machine's wall clock: the clock that everybody else has, and the metric of the
# process's start, which is a date.
READS_WALL_TIME = {"clock.py", "telemetry/metrics.py"}
# Credentials end at a date that others have set.
COUNTS_WITH_DATES = {"cluster/auth/connection.py": 2}
WALL = {"time", "time_ns", "now", "utcnow", "today", "localtime"}


def product() -> dict[str, ast.Module]:
    package = ROOT / "python" / "kpolicy"
    live = ("cluster", "scheduler", "telemetry", "recorder", "engine", "policy")
    paths = [path for path in with_suffix(".py") if path.is_relative_to(package)]
    names = {str(path.relative_to(package)): path for path in paths}
    return {
        name: ast.parse(path.read_text())
        for name, path in names.items()
        if Path(name).parts[0] in live or "/" not in name
    }


def test_only_the_clock_reads_the_wall_clock_of_the_machine() -> None:
    modules = product()
    assert len(modules) > 150
    readers = {
        name
        for name, tree in modules.items()
        for call in ast.walk(tree)
        if isinstance(call, ast.Attribute)
        and call.attr in WALL
        and isinstance(call.value, ast.Name)
        and call.value.id in {"time", "datetime", "date"}
    }
    assert readers == READS_WALL_TIME


def test_nobody_adds_subtracts_or_compares_wall_time() -> None:
    counting: dict[str, int] = {}
    asked = 0
    for name, tree in product().items():
        for found in ast.walk(tree):
            if not isinstance(found, ast.BinOp | ast.Compare):
                continue
            parts = ast.iter_child_nodes(found)
            asked += 1
            if any(is_wall_time(part) for part in parts):
                counting[name] = counting.get(name, 0) + 1
    assert asked > 1000
    assert counting == COUNTS_WITH_DATES


def is_wall_time(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == "now_ns"
    )
