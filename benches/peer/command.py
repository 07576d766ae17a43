"""`python -m benches peer`: compares kpolicy with kube-scheduler's own cycle in one run. Needs an
optimised engine (`make release`).
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from benches import matrix
from benches.peer import ours, theirs
from benches.peer.agreement import NOTHING, Agreement, check, check_sampled
from benches.peer.build import KubeScheduler, kube_scheduler, say
from benches.peer.comparison import ALL, OURS, SAMPLED, THEIRS, Contender, Row, in_turns
from benches.peer.table import table
from kpolicy.offline.bench.generated_cluster import Size, as_list
from kpolicy.offline.bench.workloads import DEVICES, UNIQUE, WORKLOADS
from tests.cluster.errors import ControlPlaneError

NODES: Final = 5_000
# Of workloads with devices.
DEVICE_NODES: Final = 500
TURNS: Final = 2
BUDGET_S: Final = 8.0
# Large enough for ten zones of several nodes, small enough to examine every node for every pod.
CHECK_NODES: Final = 60
CHECK_PODS: Final = 120
# So many nodes that both schedulers stop before the last one.
SAMPLED_NODES: Final = 250
_DIFFERENCES_SHOWN_MAX: Final = 10
_DIFFERENT: Final = 1
_CANNOT: Final = 2


def parser() -> argparse.ArgumentParser:
    flags = argparse.ArgumentParser(
        prog="python -m benches peer",
        description="Compare kpolicy with kube-scheduler's own scheduling cycle, run in-process "
        "without an API server: first that both are asked the same question, then how fast each "
        "answers. docs/internals/bench-peer.md says how to read the table.",
        epilog="exit: 0 compared, 1 the two disagree about what is possible, 2 could not work",
    )
    flags.add_argument(
        "--workload",
        action="append",
        choices=list(WORKLOADS),
        metavar="NAME",
        help="only these; repeatable (default: all)",
    )
    at_least_one = _from(1)
    flags.add_argument(
        "--nodes",
        type=at_least_one,
        metavar="N",
        help=f"(default: {NODES:,}, and {DEVICE_NODES} where pods need devices)",
    )
    flags.add_argument(
        "--existing", type=_from(0), metavar="M", help="pods on nodes (default: of the workload)"
    )
    flags.add_argument(
        "--pods", type=at_least_one, metavar="P", help="pods to place (default: of the workload)"
    )
    flags.add_argument(
        "--turns",
        type=at_least_one,
        default=TURNS,
        metavar="N",
        help="runs of each scheduler, in turns (default: %(default)s)",
    )
    flags.add_argument(
        "--seconds",
        type=_positive,
        default=BUDGET_S,
        metavar="S",
        help="a run of kube-scheduler ends after so much time in cycles (default: %(default)s)",
    )
    flags.add_argument(
        "--check-only", action="store_true", help="only that both are asked the same question"
    )
    flags.add_argument(
        "--keep", type=Path, metavar="FOLDER", help="keep the worlds there, a Kubernetes List each"
    )
    flags.add_argument("--output", "-o", choices=("table", "json"), default="table")
    return flags


def main(words: Sequence[str]) -> int:
    arguments = parser().parse_args(words)
    try:
        return _compared(arguments)
    except (ControlPlaneError, theirs.KubeSchedulerError, OSError) as error:
        say(str(error))
        return _CANNOT


def _compared(arguments: argparse.Namespace) -> int:
    workloads = arguments.workload or list(WORKLOADS)
    is_table = arguments.output == "table"
    peer = kube_scheduler()
    rows: list[Row] = []
    with _folder(arguments.keep) as folder:
        agreement = check_all(peer, workloads, folder)
        if is_table:
            print(agreement.sentence, flush=True)
        for difference in agreement.differences[:_DIFFERENCES_SHOWN_MAX]:
            say(difference)
        is_only_checked = arguments.check_only or agreement.differences
        for workload in () if is_only_checked else workloads:
            nodes = arguments.nodes or (DEVICE_NODES if workload in DEVICES else NODES)
            size = size_of(workload, nodes, arguments.existing, arguments.pods)
            say(f"{workload}, {size.nodes:,} nodes, {size.pods:,} pods wait")
            path = _written(folder / f"{workload}.json", workload, size)
            rows += compare(
                peer, workload, size, path, turns=arguments.turns, budget_s=arguments.seconds
            )
    if not is_table:
        print(json.dumps(_document(peer, agreement, rows, arguments.turns)))
    elif rows:
        print("\n".join([_title(peer, arguments.turns), *table(rows)]))
    return _DIFFERENT if agreement.differences else 0


def check_all(peer: KubeScheduler, workloads: Sequence[str], folder: Path) -> Agreement:
    """Checks two small clusters of each workload."""
    total = NOTHING
    for workload in workloads:
        for name, nodes, compared in (
            ("check", CHECK_NODES, check),
            ("check-sampled", SAMPLED_NODES, check_sampled),
        ):
            size = size_of(workload, nodes, None, CHECK_PODS)
            path = _written(folder / f"{workload}-{name}.json", workload, size)
            total += compared(peer.path, workload, size, path)
    return total


def compare(
    peer: KubeScheduler, workload: str, size: Size, path: Path, *, turns: int, budget_s: float
) -> list[Row]:
    """Compares the schedulers on the cluster in the file."""

    def mode(scored: str, percentage: int) -> Contender:
        return Contender(
            THEIRS, scored, lambda: theirs.timed(peer.path, path, percentage, budget_s)
        )

    contenders = [
        Contender(OURS, ALL, lambda: ours.timed(path, size.pods)),
        mode(SAMPLED, theirs.SAMPLED),
        mode(ALL, theirs.ALL_NODES),
    ]
    return in_turns(workload, size, contenders, turns)


def size_of(workload: str, nodes: int, existing: int | None, pods: int | None) -> Size:
    """The size as in the matrix of workloads, with the same number of pods on a node. Workloads
    without equal pods have the sizes of `basic`."""
    sized_as = "basic" if workload in UNIQUE else workload
    sizes = [case.size for case in matrix.cases() if case.workload == sized_as]
    like = next((size for size in sizes if size.nodes == nodes), sizes[0])
    if existing is None:
        existing = like.existing * nodes // like.nodes
    return Size(nodes, existing, like.pods if pods is None else pods)


def _written(path: Path, workload: str, size: Size) -> Path:
    with path.open("wb") as file:
        file.writelines(as_list(workload, size))
    return path


@contextmanager
def _folder(kept: Path | None) -> Iterator[Path]:
    if kept is not None:
        kept.mkdir(parents=True, exist_ok=True)
        yield kept
        return
    with tempfile.TemporaryDirectory(prefix="kpolicy-peer-") as name:
        yield Path(name)


def _title(peer: KubeScheduler, turns: int) -> str:
    return (
        f"kube-scheduler {peer.version}, {os.cpu_count()} processors ({platform.machine()}), "
        f"medians of {turns}"
    )


def _document(
    peer: KubeScheduler, agreement: Agreement, rows: Sequence[Row], turns: int
) -> dict[str, object]:
    return {
        "kubernetes": peer.version,
        "processors": os.cpu_count(),
        "machine": platform.machine(),
        "turns": turns,
        "agreement": agreement.line(),
        "rows": [row.line() for row in rows],
    }


def _from(low: int) -> Callable[[str], int]:
    def number(text: str) -> int:
        value = int(text)
        if value < low:
            raise argparse.ArgumentTypeError(f"{low} or more")
        return value

    return number


def _positive(text: str) -> float:
    value = float(text)
    if not value > 0:
        raise argparse.ArgumentTypeError("more than 0")
    return value
