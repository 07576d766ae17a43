"""Reads the traces of openb (Alibaba's cluster-trace-gpu-v2023) from the folder that holds them.

`openb_node_list_gpu_node.csv` has the nodes, `openb_pod_list_NAME.csv` the pods of a variant.
What is wrong with a file is a problem with a code, the file and the line, and nothing is read.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final, TypeVar

from kpolicy.offline.fill.trace import WHOLE, Trace, TraceNode, TracePod
from kpolicy.offline.snapshots.snapshot_problem import NOT_READABLE, Problem

WRONG_HEADER: Final = "WrongHeader"
BAD_ROW: Final = "BadRow"
UNKNOWN_TRACE: Final = "UnknownTrace"
# How a flag begins that names such a trace.
OPENB: Final = "openb:"
NODES_FILE: Final = "openb_node_list_gpu_node.csv"
DEFAULT_PODS: Final = "default"
_NODE_COLUMNS: Final = ("sn", "cpu_milli", "memory_mib", "gpu", "model")
# Some variants have further columns, of which only `gpu_spec` matters here.
_POD_COLUMNS: Final = ("name", "cpu_milli", "memory_mib", "num_gpu", "gpu_milli")
_MODELS: Final = "gpu_spec"
# A file with more lines is no trace of one cluster.
_ROWS_MAX: Final = 1_000_000

_Row = TypeVar("_Row")
_Fields = dict[str, str]


def pods_file(variant: str) -> str:
    return f"openb_pod_list_{variant}.csv"


def trace_at(written: str, variant: str = DEFAULT_PODS) -> Trace | Problem:
    """The trace that a flag names: `openb:FOLDER`."""
    if not written.startswith(OPENB):
        hint = f"write {OPENB}FOLDER"
        return Problem(UNKNOWN_TRACE, written, "", "no kind of trace that is known", hint)
    return read_openb(Path(written.removeprefix(OPENB)), variant)


def read_openb(folder: Path, variant: str = DEFAULT_PODS) -> Trace | Problem:
    """The trace itself or a folder `csv` in it."""
    csv_folder = folder / "csv" if (folder / "csv").is_dir() else folder
    nodes = _rows(csv_folder / NODES_FILE, _NODE_COLUMNS, _node)
    if isinstance(nodes, Problem):
        return nodes
    pods = _rows(csv_folder / pods_file(variant), _POD_COLUMNS, _pod)
    if isinstance(pods, Problem):
        return pods
    return Trace(variant, tuple(nodes), tuple(pods))


def _node(row: _Fields) -> TraceNode:
    if not row["sn"]:
        raise ValueError("`sn` is empty")
    return TraceNode(
        row["sn"],
        _number(row, "cpu_milli"),
        _number(row, "memory_mib"),
        _number(row, "gpu"),
        row["model"],
    )


def _pod(row: _Fields) -> TracePod:
    gpus, milli = _number(row, "num_gpu"), _number(row, "gpu_milli")
    if milli > WHOLE:
        raise ValueError(f"`gpu_milli` is {milli}, more than a GPU has")
    if gpus > 1 and milli != WHOLE:
        raise ValueError(f"{gpus} GPUs are asked for, and {milli} thousandths of each")
    models = tuple(model for model in (row.get(_MODELS) or "").split("|") if model)
    cpu, memory = _number(row, "cpu_milli"), _number(row, "memory_mib")
    return TracePod(cpu, memory, gpus, milli if gpus else 0, models)


def _number(row: _Fields, column: str) -> int:
    """Traces write whole numbers, some as `4000.0`."""
    text = row[column]
    try:
        number = float(text)
    except (TypeError, ValueError):
        raise ValueError(f"`{column}` is {text!r}, no number") from None
    if not 0 <= number < 2**53 or number != int(number):
        raise ValueError(f"`{column}` is {text!r}, no whole number from 0 on")
    return int(number)


def _rows(
    path: Path, columns: Sequence[str], made: Callable[[_Fields], _Row]
) -> list[_Row] | Problem:
    try:
        with path.open(encoding="utf-8", newline="") as file:
            return _read(path, csv.DictReader(file), columns, made)
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        hint = "give the folder of the trace: `openb:FOLDER`"
        return Problem(NOT_READABLE, str(path), "", str(error), hint)


def _read(
    path: Path,
    reader: csv.DictReader[str],
    columns: Sequence[str],
    made: Callable[[_Fields], _Row],
) -> list[_Row] | Problem:
    header = reader.fieldnames or []
    if lacking := [column for column in columns if column not in header]:
        message = f"the first line lacks {', '.join(lacking)}"
        return Problem(WRONG_HEADER, str(path), "line 1", message, f"it has {', '.join(header)}")
    rows: list[_Row] = []
    for row in reader:
        line = f"line {reader.line_num}"
        if len(rows) >= _ROWS_MAX:
            return Problem(BAD_ROW, str(path), line, f"more than {_ROWS_MAX} lines")
        if None in row or None in row.values():
            message = f"it has not {len(header)} values"
            return Problem(BAD_ROW, str(path), line, message)
        try:
            rows.append(made(row))
        except ValueError as error:
            return Problem(BAD_ROW, str(path), line, str(error))
    return rows
