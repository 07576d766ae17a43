"""The matrix of workloads: each file in `workloads/` has one workload and its sizes. A size with
`quick` is part of every run. One with `huge` takes minutes to generate: only the picture has it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import yaml

from kpolicy.cli.input_output import progress_bar
from kpolicy.offline.bench.generated_cluster import Size
from kpolicy.offline.bench.measure import Measured, measure
from kpolicy.offline.bench.workloads import WORKLOADS
from kpolicy.offline.reports.answer_text import HEADINGS, row
from kpolicy.offline.reports.columns import columns

FOLDER: Final = Path(__file__).parent / "workloads"
_KEYS: Final = {"name", "workload", "about", "sizes"}
_SIZE_KEYS: Final = {"nodes", "existing", "pods", "quick", "reach", "huge"}


@dataclass(frozen=True, slots=True)
class Case:
    """`reach` is the rate that the design wants, decided pods a second; 0 where it names none."""

    name: str
    workload: str
    size: Size
    is_quick: bool
    reach: int
    is_huge: bool = False


@dataclass(frozen=True, slots=True)
class Ran:
    case: Case
    measured: Measured

    def line(self) -> dict[str, Any]:
        reach = {"reach": self.case.reach} if self.case.reach else {}
        cpu_us = round(self.measured.cpu_seconds * 1e6 / self.case.size.pods, 2)
        return {"name": self.case.name, **self.measured.line(), "cpuUsPerPod": cpu_us, **reach}


def cases() -> list[Case]:
    """Of all files, in the order of their names and lines."""
    return [case for path in sorted(FOLDER.glob("*.yaml")) for case in read(path)]


def read(path: Path) -> list[Case]:
    document = yaml.safe_load(path.read_text("utf-8"))
    assert set(document) == _KEYS, f"{path.name} has {sorted(document)}"
    assert document["workload"] in WORKLOADS, path.name
    made = []
    for size in document["sizes"]:
        assert set(size) <= _SIZE_KEYS, f"{path.name} has {sorted(size)}"
        made.append(
            Case(
                document["name"],
                document["workload"],
                Size(size["nodes"], size["existing"], size["pods"]),
                bool(size.get("quick")),
                int(size.get("reach", 0)),
                bool(size.get("huge")),
            )
        )
    return made


def chosen(names: Sequence[str], *, is_full: bool) -> list[Case]:
    return [
        case
        for case in cases()
        if (case.is_quick or (is_full and not case.is_huge)) and (not names or case.name in names)
    ]


def measure_all(which: Sequence[Case]) -> list[Ran]:
    ran = []
    for case in which:
        with progress_bar(f"{case.name}, {case.size.nodes:,} nodes") as progress:
            ran.append(Ran(case, measure(case.workload, case.size, progress=progress)))
    return ran


def table(ran: Sequence[Ran]) -> list[str]:
    rows = [
        [
            *row(result.measured),
            f"{result.measured.cpu_seconds * 1e6 / result.case.size.pods:.1f}",
            f"{result.case.reach:,}" if result.case.reach else "",
        ]
        for result in ran
    ]
    return columns([[*HEADINGS, "CPU µs a pod", "reach"], *rows], right=range(1, len(HEADINGS) + 2))
