"""A plan as text."""

from __future__ import annotations

from typing import Final

from kpolicy.offline.plan.plan_model import Plan
from kpolicy.offline.reports import plan_tables as tables
from kpolicy.offline.reports.columns import columns

_CLASSES_SHOWN: Final = 10
_VALUES_SHOWN: Final = 10
_PODS_SHOWN: Final = 20


def plan_text(plan: Plan) -> list[str]:
    """What matters comes first; tables in which nothing changes are left out."""
    first, second = plan.releases
    lines = [f"{plan.old} → {plan.new}, over {tables.where(plan)}", tables.headline(plan)]
    if first != second:
        lines.append(f"the old policy decides as Kubernetes {first}, the new one as {second}")
    rules = tables.rules_line(plan)
    lines += [f"rules that made changes: {rules}"] if rules else []
    shown = [
        tables.outcome(plan),
        tables.inputs(plan),
        tables.classes(plan, _CLASSES_SHOWN),
        tables.resources(plan),
        tables.nodes(plan),
        *tables.spreads(plan, _VALUES_SHOWN),
        tables.changes(plan, _PODS_SHOWN),
    ]
    for table in shown:
        if table is not None:
            lines += ["", *_table(table)]
    if missing := tables.not_measured(plan):
        lines += ["", *missing]
    verdicts = tables.thresholds(plan)
    return [*lines, "", *verdicts] if verdicts else lines


def _table(table: tables.Table) -> list[str]:
    width = max(map(len, table.rows))
    lines = columns(table.rows, right=range(table.right, width))
    return [*lines, table.more] if table.more else lines
