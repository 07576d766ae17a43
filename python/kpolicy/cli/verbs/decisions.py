"""The verbs that let policies decide: `explain`, `simulate` and `diff` on a snapshot, `bench` on a
generated cluster.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Iterable
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any, Final

from kpolicy.cli.findings_text import printable
from kpolicy.cli.input_output import (
    all_sources,
    ask_engine,
    bytes_out,
    for_terminal,
    is_color,
    load_plugins,
    load_program,
    load_snapshot,
    plugins_reported,
    print_problems,
    progress_bar,
    refusals_reported,
    text_width,
    write_document,
    write_lines,
    write_list,
)
from kpolicy.cli.interrupts import run_async
from kpolicy.cli.live_cluster import connect, listed
from kpolicy.cli.page_files import write_diff_page, write_explain_page, write_simulate_page
from kpolicy.cli.running_scheduler import SCHEDULER, explained, scheduler_url
from kpolicy.cli.two_policies import NAMES_MATCHED, OLD_AND_NEW, TwoPolicies
from kpolicy.cli.verb import (
    BOTH_RELEASES,
    CLUSTER,
    DECISION,
    FEATURE_GATES,
    FINDINGS,
    FINE,
    FOLLOWED,
    HTML,
    NOW,
    OUTPUT,
    PARAM,
    PLUGINS,
    SEED,
    SNAPSHOT,
    SNAPSHOT_HELP,
    CannotWorkError,
    Verb,
    argument,
    every_pod,
    repeatable,
    whole_number,
    whole_numbers,
)
from kpolicy.engine_threads import ENGINE_THREADS_MAX
from kpolicy.offline.bench.workloads import WORKLOADS
from kpolicy.offline.limits import BENCH_NODES_MAX, BENCH_PODS_MAX

if TYPE_CHECKING:
    from kpolicy.offline.answers.pod_decisions import Explaining, SimulatedPod, Simulating
    from kpolicy.offline.snapshots.cluster_snapshot import Snapshot

# With more pods than this, and without --pod, each pod gets one line.
_PODS_IN_FULL_MAX: Final = 20
_EXPLAIN_EPILOG: Final = """\
Without --pod, explains every pending pod that the policy serves. Each pod is explained by itself;
`kpolicy simulate` places them one after the other. A pod that is on a node is explained as if it
were not there.

exit: 0 explained, 1 the policy has errors, 2 could not work
"""


def _explain(args: argparse.Namespace) -> int:
    from kpolicy.offline.answers.pod_decisions import Explaining

    if args.advice and not args.pod:
        raise CannotWorkError("--advice needs --pod")
    if args.namespace:
        args.pod = [pod if "/" in pod else f"{args.namespace}/{pod}" for pod in args.pod]
    asked = _asked(args)
    if asked is not None:
        _print(asked, args, is_brief=False)
        if args.html:
            write_explain_page(args, asked)
        return 0
    held = _live(args) if args.live else None
    if held is None and not args.snapshot:
        raise CannotWorkError("--snapshot FILE is needed, or --live for the cluster of kubectl")
    work = ask_engine(
        args,
        lambda held, program: Explaining(
            held, program, seed=args.seed, namespace=args.namespace or ""
        ),
        held,
    )
    is_brief = not args.pod and args.output == "table" and len(work.pending()) > _PODS_IN_FULL_MAX
    # Lines that appear one by one show how far it is.
    bar = progress_bar("explaining") if is_brief or not sys.stdout.isatty() else nullcontext()
    with bar as progress:
        if args.pod:
            lines: Iterable[bytes | memoryview] = work.lines_of(args.pod)
            lines = map(work.advised, map(bytes, lines)) if args.advice else lines
        else:
            lines = list(work.brief_lines(progress)) if is_brief else work.lines(progress)
        if args.html:
            lines = list(lines)
        _print(lines, args, is_brief=is_brief)
    if args.html:
        write_explain_page(args, lines, work.snapshot)
    if not args.pod:
        _print_unserved(work)
    if work.not_explained:
        raise CannotWorkError("\n".join(map(str, work.not_explained)))
    return 0


def _asked(args: argparse.Namespace) -> list[bytes] | None:
    """What a running kpolicy says of the pods; None if none is asked, or it does not answer."""
    url = scheduler_url(args)
    if not (args.live and args.pod and url):
        return None

    async def lines() -> list[bytes | None]:
        is_advised = args.advice
        return [await explained(args, url, pod, is_advised=is_advised) for pod in args.pod]

    found = run_async(lines())
    answers = [line.rstrip() for line in found if line is not None]
    return answers if len(answers) == len(found) else None


def _live(args: argparse.Namespace) -> Snapshot:
    from kpolicy.clock import SystemClock
    from kpolicy.cluster.api import ApiClient

    async def now() -> Snapshot:
        async with ApiClient(await connect(args), SystemClock()) as client:
            return await listed(client)

    if args.snapshot:
        raise CannotWorkError("--live and --snapshot are two clusters; give one")
    return run_async(now())


def _print(
    lines: Iterable[bytes | memoryview], args: argparse.Namespace, *, is_brief: bool
) -> None:
    if args.output == "json":
        write_list("explain", "explanations", lines)
        return
    if args.output == "jsonl":
        put = bytes_out()
        for line in lines:
            put(line)
            put(b"\n")
        sys.stdout.flush()
        return
    from kpolicy.cli.findings_text import COLORS, GREEN, Paint
    from kpolicy.diagnostics import Severity
    from kpolicy.offline.reports import explanation_text
    from kpolicy.offline.reports.advice_text import advice_text

    paint, width = Paint(is_color(args.color)), text_width()

    def painted(explained: Any, verdict: str) -> str:
        return paint(verdict, GREEN if "selected" in explained else COLORS[Severity.ERROR])

    for position, line in enumerate(lines):
        explained = json.loads(bytes(line))
        if is_brief:
            print(painted(explained, printable(explanation_text.verdict(explained))))
        else:
            text = explanation_text.text(explained, args.top, width)
            text += advice_text(explained.get("advice", {}))
            verdict, *rest = for_terminal(map(printable, text))
            print("\n".join(["", painted(explained, verdict), *rest][position == 0 :]))
    if is_brief:
        print("`--pod NS/NAME` explains one pod in full", file=sys.stderr)


def _print_unserved(work: Explaining) -> None:
    from kpolicy.offline.reports.columns import counts_of_names

    unserved = Counter(pod.scheduler_name for pod in work.not_served())
    if not work.pending() and not unserved:
        print(
            "no pod is pending; `--pod NS/NAME` explains a pod that is on a node", file=sys.stderr
        )
    if unserved:
        print(
            "pending pods of schedulers that the policy does not serve: "
            f"{printable(counts_of_names(unserved))}; `--every-pod` includes them",
            file=sys.stderr,
        )


# For verbs that have another input too.
_WITH_OPTIONAL_SNAPSHOT: Final = (
    argument(*SNAPSHOT.names, **{**SNAPSHOT.options, "required": False, "default": []}),
    *(flag for flag in DECISION if flag is not SNAPSHOT),
)

EXPLAIN: Final = Verb(
    "explain",
    "Explain where pods of a snapshot fit: which rule rejects which nodes, and how the other nodes "
    "score.",
    _explain,
    (
        *_WITH_OPTIONAL_SNAPSHOT,
        argument(
            "--live",
            action="store_true",
            help="the cluster of kubectl, instead of a snapshot: list it now; with --scheduler and "
            "--pod, ask a running kpolicy",
        ),
        *CLUSTER,
        *SCHEDULER,
        HTML,
        repeatable(
            "--pod",
            metavar="NS/NAME",
            help="explain this pod; repeatable (without NS: that of --namespace, or default)",
        ),
        argument(
            "--namespace",
            "-n",
            metavar="NS",
            help="explain pods of this namespace only (default: of all)",
        ),
        argument(
            "--advice",
            action="store_true",
            help="with --pod: also the smallest changes that would place it",
        ),
        argument(
            "--top",
            type=whole_number(1),
            default=5,
            metavar="N",
            help="how many nodes a table of scores shows (default: %(default)s)",
        ),
        OUTPUT,
    ),
    _EXPLAIN_EPILOG,
)


_SIMULATE_EPILOG: Final = """\
Pods are placed in the order of the queue: by priority, creation time and name. Each pod sees the
pods that were placed before it. No pod is evicted. With --plugin, each pod is tried once: no time
passes, and a pod that still waits on Permit at the end is refused.

With --scenario, days pass: pods come and go, nodes change, and the queue, its back-off and
preemption work in virtual time. A scenario is a document (`kpolicy schema --kind Scenario`); the
journal of a cluster is one too. The same seed gives the same bytes.

exit: 0 simulated, whatever became of the pods; 1 the policy has errors; 2 could not work
"""


def _simulate(args: argparse.Namespace) -> int:
    if args.scenario:
        from kpolicy.cli.simulated_days import simulate_days

        return simulate_days(args)
    if not args.snapshot:
        raise CannotWorkError("name a cluster with --snapshot, or days with --scenario")
    if args.csv:
        raise CannotWorkError("--csv goes with --scenario")
    from kpolicy.offline.answers.pod_decisions import Simulating
    from kpolicy.offline.reports.answer_text import pods_text, simulation_text

    plugins = load_plugins(args)
    work = ask_engine(
        args,
        lambda held, program: Simulating(held, program, seed=args.seed, plugins=plugins),
        plugins=plugins,
    )
    with plugins_reported(), progress_bar("placing pods") as progress:
        pods = work.pods(progress)
        simulated = list(pods) if args.html or args.output == "table" else []
        if args.output != "table":
            _print_simulation(simulated or pods, work, args.output)
    summary = work.summary()
    if args.output == "table":
        shown = [*pods_text(simulated), "", *simulation_text(summary)][not simulated :]
        print("\n".join(map(printable, shown)))
    if args.html:
        document = {"pods": [pod.line() for pod in simulated], **summary.line()}
        write_simulate_page(args, document, work.snapshot)
    return 0


def _print_simulation(pods: Iterable[SimulatedPod], work: Simulating, output: str) -> None:
    lines = (json.dumps(pod.line(), ensure_ascii=False) for pod in pods)
    if output == "json":
        items = (line.encode() for line in lines)
        write_list("simulate", "pods", items, lambda: _fields(work.summary().line()))
        return
    for line in lines:
        print(line)
    print(json.dumps(work.summary().line(), ensure_ascii=False))


def _fields(line: dict[str, Any]) -> str:
    """The fields of an object, to follow others."""
    return "".join(
        f', "{key}": {json.dumps(value, ensure_ascii=False)}' for key, value in line.items()
    )


SIMULATE: Final = Verb(
    "simulate",
    "Place all pending pods of a snapshot that the policy serves, or simulate days in which pods "
    "come and go, and print a summary.",
    _simulate,
    (
        *_WITH_OPTIONAL_SNAPSHOT,
        argument(
            "--scenario",
            default="",
            metavar="FILE|DIR|-",
            help="simulate these days: a document of kind Scenario, or the folder of a journal",
        ),
        argument(
            "--csv",
            default="",
            metavar="FILE",
            help="with --scenario: write the figures over time to this file",
        ),
        PLUGINS,
        HTML,
        OUTPUT,
    ),
    _SIMULATE_EPILOG,
)


_DIFF_EPILOG: Final = """\
Under each policy, pending pods are placed one after the other, as `kpolicy simulate` does. No pod
is evicted. With --all-pods, the place of each pod that is on a node is decided again too, as if the
pod were not there. For the first differences, the rule that causes them is shown. The figures come
first: pods by workload, shares by labels of nodes, and how full nodes become.

With two releases, shows what an upgrade of Kubernetes changes: `kpolicy diff --release 1.36
--release 1.37 --snapshot cluster.kpsnap`, for a policy if one is named, otherwise for what
kube-scheduler does.

exit: 0 no difference, 1 differences, 2 could not work (also if a policy has errors)
"""


def _diff(args: argparse.Namespace) -> int:
    from kpolicy.offline.answers.policy_diff import diff
    from kpolicy.offline.reports.diff_text import difference_text, overview_text

    policies = TwoPolicies.of(args)
    snapshot = load_snapshot(args.snapshot)
    snapshot.now_ns = snapshot.now_ns if args.now is None else args.now
    old, new = policies.programs(snapshot.cluster_version)
    with refusals_reported(), progress_bar("deciding twice") as progress:
        found = diff(
            snapshot,
            old,
            new,
            all_pods=args.all_pods,
            labels=args.by_label,
            seed=args.seed,
            progress=progress,
        )
    print_problems(snapshot)
    lines = [difference.line() for difference in found.differences]
    if args.output == "json":
        write_document("diff", {"differences": lines, **found.line()})
    elif args.output == "jsonl":
        write_lines([*lines, found.line()])
    else:
        texts = [line for difference in found.differences for line in difference_text(difference)]
        shown = [*overview_text(found), *([""] if texts else []), *texts]
        print("\n".join(map(printable, shown)))
    if args.html:
        write_diff_page(args, {"differences": lines, **found.line()}, snapshot)
    if not found.pods:
        print(
            "no pod of the snapshot is served by either policy; `--every-pod` includes the pods of "
            "other schedulers",
            file=sys.stderr,
        )
    return FINDINGS if found.differences else FINE


DIFF: Final = Verb(
    "diff",
    "Show which pods of a snapshot a new policy would place on other nodes, and why.",
    _diff,
    (
        *OLD_AND_NEW,
        argument(
            "--snapshot",
            "-s",
            action="append",
            required=True,
            metavar="FILE|DIR|-",
            help=f"{SNAPSHOT_HELP}; repeatable",
        ),
        NOW,
        PARAM,
        argument(
            "--all-pods", action="store_true", help="also decide again about pods that are on nodes"
        ),
        every_pod("each policy's one profile"),
        NAMES_MATCHED,
        repeatable(
            "--by-label",
            metavar="KEY",
            help="count the placed pods by this label of their nodes; repeatable (default: zone, "
            "rack, and labels of spot capacity that nodes have)",
        ),
        BOTH_RELEASES,
        FEATURE_GATES,
        SEED,
        HTML,
        OUTPUT,
    ),
    _DIFF_EPILOG,
)


_LISTED: Final = "\n".join(f"  {name:<31} {workload.about}" for name, workload in WORKLOADS.items())
_BENCH_EPILOG: Final = f"""\
workloads:
{_LISTED}

Only the engine is timed: it decides and assumes pods one after the other, in the order of the
queue, and scores all nodes. p50 and p99 are times of single decisions, as the engine measures them.

exit: 0 measured, 1 the policy has errors, 2 could not work
"""


def _bench(args: argparse.Namespace) -> int:
    from kpolicy.diagnostics import did_you_mean
    from kpolicy.offline.bench.generated_cluster import Size
    from kpolicy.offline.bench.measure import measure
    from kpolicy.offline.reports.answer_text import table

    if args.workload not in WORKLOADS:
        hint = did_you_mean(args.workload, WORKLOADS) or f"one of {', '.join(WORKLOADS)}"
        raise CannotWorkError(f"there is no workload `{args.workload}`; {hint}")
    program = load_program(args, all_sources(args.policy), every_pod=True)
    size = Size(args.nodes, args.existing, args.pods)
    measured = []
    for threads in args.threads or (None,):
        with refusals_reported(), progress_bar("deciding") as progress:
            each = measure(
                args.workload, size, program, seed=args.seed, threads=threads, progress=progress
            )
        measured.append(each)
    lines = [each.line() for each in measured]
    if args.output == "json":
        write_document("bench", {"measured": lines})
    elif args.output == "jsonl":
        write_lines(lines)
    else:
        print("\n".join(table(measured)))
    return 0


BENCH: Final = Verb(
    "bench",
    "Measure how fast the engine decides on a generated cluster: nodes of 32 cpu, 128Gi and 110 "
    "pods in ten zones, pods of 50 apps.",
    _bench,
    (
        argument("--workload", "-w", required=True, metavar="NAME", help="see below"),
        *(
            argument(
                flag,
                type=whole_number(low, high),
                default=default,
                metavar="N",
                help=f"{what} (default: {default:,})",
            )
            for flag, default, low, high, what in (
                ("--nodes", 5_000, 1, BENCH_NODES_MAX, "nodes"),
                ("--existing", 5_000, 0, BENCH_PODS_MAX, "pods that are on the nodes already"),
                ("--pods", 10_000, 1, BENCH_PODS_MAX, "pods to place"),
            )
        ),
        argument(
            "--threads",
            type=whole_numbers(1, ENGINE_THREADS_MAX),
            metavar="N,…",
            help="measure with so many threads, one number after the other (default: as many as "
            "this process may use processors)",
        ),
        SEED,
        repeatable(
            "--policy",
            metavar="FILE|DIR|-",
            help="a policy with one profile; repeatable (default: kube-scheduler-default)",
        ),
        PARAM,
        *FOLLOWED,
        OUTPUT,
    ),
    _BENCH_EPILOG,
)
