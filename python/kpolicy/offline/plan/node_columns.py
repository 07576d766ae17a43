"""Columns of nodes that the user names, such as what a node costs or how much power it draws: a
label, an annotation, or a file with a value for each node.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, Literal

from kpolicy.diagnostics import did_you_mean
from kpolicy.offline.limits import COLUMN_BYTES_MAX
from kpolicy.offline.plan.plan_cluster import SeenNode
from kpolicy.offline.snapshots.snapshot_problem import NOT_READABLE, TOO_LARGE, Problem
from kpolicy.policy.quantities import read_quantity
from kpolicy.quick_dataclass import dataclass
from kpolicy.regular_files import read_file

# A column that cannot be read, and one that no node of a snapshot has.
BAD_COLUMN: Final = "BadColumn"
NO_COLUMN: Final = "NoColumn"
_HEADER: Final = "node"

Origin = Literal["label", "annotation", "file"]


@dataclass(frozen=True, slots=True)
class Column:
    """`key`: of a label or an annotation, or the path of a file, whose values are `of_file`."""

    name: str
    origin: Origin
    key: str
    of_file: Mapping[str, float]

    def values(self, nodes: Mapping[str, SeenNode], source: str) -> dict[str, float] | Problem:
        """The values of the nodes that have one, or why there is none."""
        found: dict[str, float] = {}
        for name, node in nodes.items():
            if self.origin == "file":
                if name in self.of_file:
                    found[name] = self.of_file[name]
                continue
            written = (node.labels if self.origin == "label" else node.annotations).get(self.key)
            if written is None:
                continue
            value = _number(str(written))
            if value is None:
                message = f"the {self.origin} {self.key} is `{written}`, which is no number"
                return Problem(BAD_COLUMN, source, f"column {self.name}, node {name}", message)
            found[name] = value
        return found or self._nowhere(nodes, source)

    def _nowhere(self, nodes: Mapping[str, SeenNode], source: str) -> Problem:
        what = f"column {self.name}"
        if self.origin == "file":
            hint = did_you_mean(next(iter(self.of_file), ""), nodes)
            return Problem(NO_COLUMN, source, what, f"no node is in {self.key}", hint)
        known = dict.fromkeys(
            key
            for node in nodes.values()
            for key in (node.labels if self.origin == "label" else node.annotations)
        )
        message = f"no node has the {self.origin} {self.key}"
        return Problem(NO_COLUMN, source, what, message, did_you_mean(self.key, known))


def read_column(written: str, reserved: Sequence[str]) -> Column | Problem:
    """`NAME=label:KEY`, `NAME=annotation:KEY` or `NAME=FILE`. `reserved` names have another meaning
    in expressions."""
    name, equals, origin = written.partition("=")
    form = "write NAME=label:KEY, NAME=annotation:KEY or NAME=FILE"
    if not equals or not origin:
        return Problem(BAD_COLUMN, "--column", written, form)
    if not (name.isascii() and name.isidentifier()):
        message = f"`{name}` is no name for a column: letters, digits and _"
        return Problem(BAD_COLUMN, "--column", written, message)
    if name in reserved:
        message = f"`{name}` is the name of a figure of every plan"
        return Problem(BAD_COLUMN, "--column", written, message, "use another name")
    for kind in ("label", "annotation"):
        if origin.startswith(f"{kind}:"):
            key = origin.removeprefix(f"{kind}:")
            if not key:
                return Problem(BAD_COLUMN, "--column", written, form)
            return Column(name, "label" if kind == "label" else "annotation", key, {})
    values = _of_file(origin)
    return values if isinstance(values, Problem) else Column(name, "file", origin, values)


def _of_file(path: str) -> dict[str, float] | Problem:
    try:
        text = read_file(Path(path), COLUMN_BYTES_MAX)
    except OSError as error:
        hint = "a label is written label:KEY, an annotation annotation:KEY"
        return Problem(NOT_READABLE, path, "", f"cannot be read: {error.strerror or error}", hint)
    if len(text) > COLUMN_BYTES_MAX:
        return Problem(TOO_LARGE, path, "", f"larger than {COLUMN_BYTES_MAX:,} bytes")
    found: dict[str, float] = {}
    for line, (node, written) in _rows(text):
        value = _number(written)
        if not node or value is None:
            if line == 1 and node.lower() == _HEADER:
                continue
            message = "a line is NODE,VALUE, and the value is a number"
            return Problem(BAD_COLUMN, f"{path}:{line}", "", message)
        found[node] = value
    return found


def _rows(text: bytes) -> Iterator[tuple[int, tuple[str, str]]]:
    """Lines that are not empty, with their numbers."""
    reader = csv.reader(io.StringIO(text.decode("utf-8-sig", "replace"), newline=""))
    try:
        for row in reader:
            if row:
                cells = [cell.strip() for cell in row]
                yield reader.line_num, (cells[0], cells[1] if len(cells) == 2 else "")
    except csv.Error:
        yield reader.line_num, ("", "")


def _number(written: str) -> float | None:
    """A number, or a quantity as Kubernetes writes it."""
    amount = read_quantity(written.strip())
    return None if amount is None else float(amount)
