"""`kpolicy sweep`: simulates days, or fills the cluster of a trace, for several policies,
parameters and seeds, side by side.
"""

from __future__ import annotations

import argparse
import itertools
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from kpolicy.cli.findings_text import printable
from kpolicy.cli.input_output import (
    all_sources,
    load_program,
    progress_bar,
    refusals_reported,
    write_document,
    write_lines,
)
from kpolicy.cli.page_files import write_sweep_page
from kpolicy.cli.verb import (
    FINE,
    FOLLOWED,
    HTML,
    OUTPUT,
    PARAM,
    CannotWorkError,
    Verb,
    argument,
    every_pod,
    repeatable,
    whole_number,
)
from kpolicy.offline.limits import CELLS_MAX, JOBS_MAX

if TYPE_CHECKING:
    from kpolicy.cli.simulated_days import JournalDays, ScenarioInput
    from kpolicy.cli.swept_trace import TraceInput
    from kpolicy.offline.days.course import Course
    from kpolicy.offline.sweeps.days_cells import Cell, Values, Variant
    from kpolicy.policy.assembly.assemble import Program

    Days: TypeAlias = ScenarioInput | JournalDays | TraceInput

_EPILOG: Final = """\
A cell is one policy with one seed and one value of each --set. Cells are simulated side by side, on
all processors of this machine. The table has the mean of each figure over the seeds, and its
standard deviation; --csv has a row for each cell.

--set nodes.worker.count=10,20 sets a field of the scenario, by its path; items of lists are named,
or numbered from 0. --set params.NAME=V1,V2 sets a param of the policies.

With --trace, the pods of a trace arrive until they ask for 130 % of its GPUs, and the table has how
much of the GPUs is allocated, and how much is left in pieces that its pods cannot use.

With --engine ray, cells run on a Ray cluster (`pip install 'kpolicy[ray]'`): the one of
--ray-address or of RAY_ADDRESS, or one that is begun on this machine. The results are the same. A
worker that is killed is replaced, and its cell is begun again.

exit: 0 simulated, 1 a policy has errors, 2 could not work
"""
# Values of params of policies.
_PARAMS: Final = "params."
_SEEDS: Final = re.compile(r"([0-9]{1,9})(?:\.\.([0-9]{1,9}))?")


def _seeds(written: str) -> list[int]:
    """`1..5`, or `1,2,7`."""
    seeds: list[int] = []
    for part in written.split(","):
        found = _SEEDS.fullmatch(part)
        if found is None:
            raise argparse.ArgumentTypeError(f"`{part}` is no seed; write 1..5, or 1,2,7")
        first = int(found[1])
        last = int(found[2] or first)
        if not first <= last < first + CELLS_MAX:
            raise argparse.ArgumentTypeError(f"`{part}` is no range of at most {CELLS_MAX:,} seeds")
        seeds += range(first, last + 1)
    return list(dict.fromkeys(seeds))


def _setting(written: str) -> tuple[str, list[str]]:
    name, equals, values = written.partition("=")
    if not name or not equals:
        raise argparse.ArgumentTypeError("write NAME=V1,V2")
    return name, list(dict.fromkeys(values.split(",")))


def _sweep(args: argparse.Namespace) -> int:
    from kpolicy.cli.simulated_days import write_whole
    from kpolicy.offline.reports.sweep_text import sweep_csv, sweep_text
    from kpolicy.offline.sweeps.cell_runner import run_cells
    from kpolicy.offline.sweeps.days_cells import Sweep, cells_of
    from kpolicy.offline.sweeps.outcomes import SweepError

    if bool(args.scenario) == bool(args.trace):
        raise CannotWorkError("give --scenario FILE, or --trace openb:DIR")
    if args.ray_address and args.engine != "ray":
        raise CannotWorkError("--ray-address goes with --engine ray")
    names = [name for name, _ in args.set]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise CannotWorkError(f"--set {twice[0]} is there twice; give its values at once")
    days = _load(args)
    combinations = _combinations(args)
    courses = {values: days.course(dict(values)) for values in map(_of_scenario, combinations)}
    variants = list(_variants(args, days, combinations, list(courses)))
    cells = cells_of(variants, args.seeds)
    if len(cells) > CELLS_MAX:
        raise CannotWorkError(f"these are {len(cells):,} cells; at most {CELLS_MAX:,} may be")
    work, shown = _work(days, courses.values(), variants)
    try:
        with refusals_reported(), progress_bar("simulating cells") as progress:
            results = run_cells(
                work,
                cells,
                jobs=args.jobs,
                engine=args.engine,
                ray_address=args.ray_address,
                progress=progress,
            )
    except SweepError as error:
        raise CannotWorkError(str(error)) from error
    sweep = Sweep(tuple(variants), cells, tuple(results), shown)
    if args.csv:
        write_whole(args.csv, sweep_csv(sweep))
    if args.output == "json":
        write_document("sweep", {"cells": sweep.cell_lines(), "variants": sweep.summary()})
    elif args.output == "jsonl":
        write_lines([*sweep.cell_lines(), {"summary": sweep.summary()}])
    else:
        print("\n".join(map(printable, sweep_text(sweep))))
    if args.html is not None:
        write_sweep_page(args, {"cells": sweep.cell_lines(), "variants": sweep.summary()})
    return FINE


def _load(args: argparse.Namespace) -> Days:
    from kpolicy.cli.simulated_days import load_days
    from kpolicy.cli.swept_trace import load_trace

    return load_trace(args.trace) if args.trace else load_days(args.scenario)


def _work(
    days: Days, courses: Iterable[Course | None], variants: Sequence[Variant]
) -> tuple[Callable[[Cell], dict[str, float]], Mapping[str, str]]:
    from kpolicy.cli.swept_trace import TraceInput
    from kpolicy.offline.sweeps import days_cells, trace_cells

    if isinstance(days, TraceInput):
        return trace_cells.TraceWork(days.trace, tuple(variants)), trace_cells.SHOWN
    made = tuple(course for course in courses if course is not None)
    return days_cells.DaysWork(made, tuple(variants)), days_cells.SHOWN


def _combinations(args: argparse.Namespace) -> list[Values]:
    """One value of each --set."""
    names = [name for name, _ in args.set]
    chosen = itertools.product(*(values for _, values in args.set))
    return [tuple(zip(names, values, strict=True)) for values in chosen]


def _of_scenario(values: Values) -> Values:
    return tuple((name, value) for name, value in values if not name.startswith(_PARAMS))


def _variants(
    args: argparse.Namespace,
    days: Days,
    combinations: Sequence[Values],
    courses: Sequence[Values],
) -> Iterator[Variant]:
    from kpolicy.offline.sweeps.days_cells import Variant

    programs: dict[tuple[str, Values], Program] = {}
    for policy in args.policy or [""]:
        for values in combinations:
            params = tuple(pair for pair in values if pair[0].startswith(_PARAMS))
            if (policy, params) not in programs:
                programs[policy, params] = _program(args, days, policy, params)
            course = courses.index(_of_scenario(values))
            name = policy or "kube-scheduler-default"
            yield Variant(name, values, course, programs[policy, params])


def _program(args: argparse.Namespace, days: Days, policy: str, params: Values) -> Program:
    from kpolicy.cli.verb import params_of

    lines = "\n".join(f"{name.removeprefix(_PARAMS)}={value}" for name, value in params)
    own: dict[str, Any] = {**dict(args.param), **params_of(lines)}
    return load_program(
        argparse.Namespace(**{**vars(args), "param": list(own.items())}),
        all_sources([policy] if policy else []),
        # The pods of a trace name no scheduler.
        every_pod=args.every_pod or bool(args.trace),
        cluster_version=days.cluster_version,
    )


SWEEP: Final = Verb(
    "sweep",
    "Simulate days, or fill the cluster of a trace, for several policies, seeds and values of "
    "parameters, and compare the figures.",
    _sweep,
    (
        argument(
            "--scenario",
            default="",
            metavar="FILE|DIR|-",
            help="the days: a document of kind Scenario, or the folder of a journal",
        ),
        argument(
            "--trace",
            default="",
            metavar="openb:DIR",
            help="fill the cluster of this trace of shared GPUs instead: the folder of openb",
        ),
        repeatable(
            "--policy",
            metavar="FILE|DIR|-",
            help="a policy to compare; repeatable (default: kube-scheduler-default)",
        ),
        argument(
            "--seeds",
            type=_seeds,
            default=[0],
            metavar="N..M",
            help="seeds of arrivals and of the choice among equal scores: 1..5, or 1,2,7 "
            "(default: 0)",
        ),
        repeatable(
            "--set",
            metavar="NAME=V1,V2",
            type=_setting,
            help="values of a field of the scenario, or of a param of the policies "
            "(params.NAME); repeatable",
        ),
        every_pod("each policy's one profile"),
        PARAM,
        *FOLLOWED,
        argument(
            "--jobs",
            "-j",
            type=whole_number(1, JOBS_MAX),
            metavar="N",
            help="how many cells are simulated at once (default: as many as this process may use "
            "processors; with --engine ray, as many as the cluster has)",
        ),
        argument(
            "--engine",
            choices=("processes", "ray"),
            default="processes",
            help="where cells are simulated (default: %(default)s)",
        ),
        argument(
            "--ray-address",
            default="",
            metavar="HOST:PORT",
            help="the Ray cluster, as `ray start --head` prints it",
        ),
        argument(
            "--csv", default="", metavar="FILE", help="write the figures of each cell to this file"
        ),
        HTML,
        OUTPUT,
    ),
    _EPILOG,
)
