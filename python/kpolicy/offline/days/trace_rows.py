"""A trace: a CSV file with a pod in each row.

`time` is needed; `template` names a kind of pods of the scenario; `duration` is how long the pod
stays on its node; every other column is a resource that it requests.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NamedTuple

from kpolicy.diagnostics import Diagnostic, Place, did_you_mean
from kpolicy.offline.days.durations import read_seconds
from kpolicy.offline.limits import TRACE_ROWS_MAX
from kpolicy.policy.codes.registry import remark
from kpolicy.policy.quantities import read_quantity

_TIME: Final = "time"
_TEMPLATE: Final = "template"
_DURATION: Final = "duration"
_PRIORITY: Final = "priority"
_NAMESPACE: Final = "namespace"
_COLUMNS: Final = (_TIME, _TEMPLATE, _DURATION, _PRIORITY, _NAMESPACE)
# Resources of the API; all others have a domain.
_RESOURCES: Final = ("cpu", "memory", "ephemeral-storage")
_HUGE_PAGES: Final = "hugepages-"


class Shape(NamedTuple):
    """What the pods of some rows have in common; `template` may be empty."""

    template: str
    priority: int | None
    namespace: str
    requests: tuple[tuple[str, str], ...]


class Row(NamedTuple):
    """`shape` is an index; `lifetime_ns` None: that of the template, or until the end."""

    at_ns: int
    shape: int
    lifetime_ns: int | None


@dataclass(frozen=True, slots=True)
class Trace:
    """`rows` in the order of time."""

    shapes: tuple[Shape, ...] = ()
    rows: tuple[Row, ...] = ()


class _WrongError(Exception):
    """`args`: a message, and a hint."""


def read_trace(path: Path, templates: Sequence[str]) -> Trace | Diagnostic:
    """A finding has the line of the file as its place."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            return _read(csv.reader(file), str(path), templates)
    except OSError as error:
        return remark("KP512", f"{path} cannot be read: {error.strerror or error}")
    except (UnicodeDecodeError, csv.Error) as error:
        return remark("KP512", f"{path} is not CSV in UTF-8: {error}")


def _read(lines: Iterator[list[str]], name: str, templates: Sequence[str]) -> Trace | Diagnostic:
    shapes: dict[Shape, int] = {}
    rows: list[Row] = []
    number = 1
    try:
        columns = _columns([column.strip() for column in next(lines, [])])
        for number, cells in enumerate(lines, start=2):  # noqa: B007
            if not any(cells):
                continue
            if len(rows) == TRACE_ROWS_MAX:
                raise _WrongError(f"a trace has at most {TRACE_ROWS_MAX:,} rows", "")
            rows.append(_row(columns, cells, templates, shapes))
    except _WrongError as error:
        message, hint = error.args
        found = remark("KP512", message, hint=hint)
        return found.at(Place(name, number, 1, number, 2))
    rows.sort(key=lambda row: row.at_ns)
    return Trace(tuple(shapes), tuple(rows))


def _columns(columns: list[str]) -> list[str]:
    if _TIME not in columns:
        raise _WrongError("there is no column `time`", "the first line names the columns")
    for column in columns:
        is_resource = column in _RESOURCES or "/" in column or column.startswith(_HUGE_PAGES)
        if column not in _COLUMNS and not is_resource:
            hint = did_you_mean(column, [*_COLUMNS, *_RESOURCES])
            hint = hint or "a resource of an extension has a domain, as `nvidia.com/gpu`"
            raise _WrongError(f"there is no column `{column}`", hint)
        if columns.count(column) > 1:
            raise _WrongError(f"two columns are `{column}`", "")
    return columns


def _row(
    columns: Sequence[str],
    cells: Sequence[str],
    templates: Sequence[str],
    shapes: dict[Shape, int],
) -> Row:
    if len(cells) != len(columns):
        raise _WrongError(
            f"this row has {len(cells)} cells, and there are {len(columns)} columns", ""
        )
    values = {column: cell.strip() for column, cell in zip(columns, cells, strict=True)}
    at_ns = read_seconds(values.pop(_TIME))
    if at_ns is None:
        raise _WrongError(
            "`time` is not a number of seconds or a duration", "write `90` or `1m30s`"
        )
    duration, lifetime_ns = values.pop(_DURATION, ""), None
    if duration and (lifetime_ns := read_seconds(duration)) is None:
        raise _WrongError(f"`duration` is `{duration}`", "write `90`, `1m30s`, or nothing")
    template = values.pop(_TEMPLATE, "")
    if template and template not in templates:
        hint = did_you_mean(template, templates) or f"there are {', '.join(templates) or 'none'}"
        raise _WrongError(f"the scenario has no kind of pods `{template}`", hint)
    priority, namespace = values.pop(_PRIORITY, ""), values.pop(_NAMESPACE, "")
    if priority and not priority.lstrip("-").isdecimal():
        raise _WrongError(f"`priority` is `{priority}`", "write a whole number, or nothing")
    for resource, amount in values.items():
        if amount and ((read := read_quantity(amount)) is None or read < 0):
            raise _WrongError(
                f"`{resource}` is `{amount}`", "write a quantity, such as 500m or 2Gi"
            )
    requests = tuple((resource, amount) for resource, amount in values.items() if amount)
    shape = Shape(template, int(priority) if priority else None, namespace, requests)
    return Row(at_ns, shapes.setdefault(shape, len(shapes)), lifetime_ns)
