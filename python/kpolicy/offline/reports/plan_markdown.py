"""A plan as Markdown for a pull request: a few lines and a table, the details folded.

The first line is a comment with a name, by which a bot finds what it posted and replaces it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from kpolicy.offline.plan.plan_model import Plan
from kpolicy.offline.reports import plan_tables as tables

_CLASSES_SHOWN: Final = 30
_VALUES_SHOWN: Final = 20
_PODS_SHOWN: Final = 50
# Longer cells make a table that nobody reads.
_CELL_MAX: Final = 160
_SPECIAL: Final = re.compile(r"([\\`*_{}\[\]<>#|~@])")


def plan_markdown(plan: Plan) -> str:
    return "\n".join(_lines(plan)) + "\n"


def marker(plan: Plan) -> str:
    """The same for each plan of this policy, and for no other."""
    name = re.sub(r"[^A-Za-z0-9._/-]+", "-", plan.new).replace("--", "-")
    return f"<!-- kpolicy plan: {name} -->"


def _lines(plan: Plan) -> Iterator[str]:
    yield marker(plan)
    yield f"### kpolicy plan: {_text(plan.old)} → {_text(plan.new)}"
    yield ""
    yield f"**{tables.headline(plan)}** (over {_text(tables.where(plan))})"
    first, second = plan.releases
    if first != second:
        yield f"The old policy decides as Kubernetes {first}, the new one as {second}."
    if rules := tables.rules_line(plan):
        yield f"Rules that made changes: {_text(rules)}"
    if plan.thresholds:
        yield ""
        for threshold in plan.thresholds:
            verdict = "**failed**" if threshold.is_true else "holds"
            yield f"- {verdict}: {_code(threshold.expression)}"
    for problem in plan.problems:
        yield ""
        yield f"**{problem.code}**: {_text(str(problem))}"
    yield ""
    yield from _table(tables.outcome(plan))
    for line in tables.not_measured(plan):
        yield ""
        yield _text(line)
    for title, found in _details(plan):
        yield ""
        yield f"<details><summary>{title}</summary>"
        for table in found:
            yield ""
            yield from _table(table)
        yield ""
        yield "</details>"


def _details(plan: Plan) -> Iterator[tuple[str, list[tables.Table]]]:
    single = (
        tables.inputs(plan),
        tables.classes(plan, _CLASSES_SHOWN),
        tables.resources(plan),
        tables.nodes(plan),
    )
    for table in single:
        if table is not None:
            yield table.title, [table]
    spreads = list(tables.spreads(plan, _VALUES_SHOWN))
    if spreads:
        yield "Spread", spreads
    pods = tables.changes(plan, _PODS_SHOWN)
    if pods is not None:
        yield pods.title, [pods]


def _table(table: tables.Table) -> Iterator[str]:
    head, *rows = table.rows
    yield _row(head)
    yield f"|{'|'.join('--:' if at >= table.right else '---' for at in range(len(head)))}|"
    yield from map(_row, rows)
    if table.more:
        yield ""
        yield table.more


def _row(cells: tuple[str, ...]) -> str:
    return f"| {' | '.join(map(_text, cells))} |"


def _text(text: str) -> str:
    """Names and messages of others are text: no Markdown, no HTML, and nobody is mentioned."""
    line = " ".join(text.split())
    cut = line if len(line) <= _CELL_MAX else f"{line[: _CELL_MAX - 1]}…"
    return _SPECIAL.sub(r"\\\1", cut).replace("\\@", "@\u200b")


def _code(text: str) -> str:
    line = " ".join(text.split())
    fence = "``" if "`" in line else "`"
    return f"{fence}{line}{fence}"
