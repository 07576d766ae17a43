"""`kpolicy why`: why a pod is pending and what would place it, or why it is where it is.

Asks a running kpolicy if one is named and lets the user in; otherwise lists the cluster, or reads a
snapshot or a journal, and judges by the pod's policy here.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from kpolicy.cli.findings_text import printable
from kpolicy.cli.input_output import (
    all_sources,
    for_terminal,
    load_program,
    text_width,
    write_document,
    write_lines,
)
from kpolicy.cli.interrupts import run_async
from kpolicy.cli.live_cluster import (
    NAMESPACE,
    connect,
    found_config_map,
    found_pod,
    listed,
    texts_of,
)
from kpolicy.cli.running_scheduler import SCHEDULER, explained, scheduler_url
from kpolicy.cli.verb import (
    CLUSTER,
    FOLLOWED,
    HTML,
    OUTPUT,
    PARAM,
    SNAPSHOT_HELP,
    CannotWorkError,
    Verb,
    argument,
    moment,
    repeatable,
    whole_number,
)

if TYPE_CHECKING:
    from kpolicy.cli.advised_cluster import AdvisedCluster
    from kpolicy.cluster.api import ApiClient
    from kpolicy.offline.answers.advice import Scope, Sums
    from kpolicy.offline.answers.why import Why
    from kpolicy.offline.snapshots.cluster_snapshot import Snapshot
    from kpolicy.policy.assembly.assemble import Program
    from kpolicy.policy.yaml.source import Source

# With the cluster's objects, if they are here and not only in a scheduler.
_Answer: TypeAlias = "tuple[Why | Sums, Snapshot | None]"
_EPILOG: Final = """\
POD is NAME, pod/NAME or NAMESPACE/NAME. Without --scheduler, the cluster is listed (pods, nodes and
what else rules read; never Secrets) and judged here: pods of kube-scheduler by its default profile,
pods of others by --policy or --policy-configmap. Nothing is changed. A snapshot is judged by
--policy, by default as kube-scheduler judges; a journal by the policy that decided then.

What would place the pod is found by deciding again, once for each suggestion; the smallest comes
first. Without POD, the pending pods of a namespace or a group are summed up.

exit: 0 answered, 1 the policy has errors, 2 could not work
"""


def _why(args: argparse.Namespace) -> int:
    from kpolicy.offline.answers.advice import Sums
    from kpolicy.offline.reports.advice_text import sums_text
    from kpolicy.offline.reports.why_text import why_text

    if not args.pod and args.namespace is None:
        raise CannotWorkError("name a POD, or a namespace with --namespace for all its pods")
    if args.at is not None and not args.snapshot:
        raise CannotWorkError("--at needs a journal as --snapshot")
    answer, snapshot = _recorded(args) if args.snapshot else run_async(_answer(args))
    if args.html:
        from kpolicy.cli.page_files import write_why_page

        write_why_page(args, answer.line(), snapshot)
    if args.output == "json":
        write_document("why" if args.pod else "why-all", answer.line())
    elif args.output == "jsonl":
        write_lines([answer.line()])
    elif isinstance(answer, Sums):
        print("\n".join(for_terminal(map(printable, sums_text(answer)))))
    else:
        print("\n".join(for_terminal(why_text(answer, args.top, text_width()))))
    return 0


def _recorded(args: argparse.Namespace) -> _Answer:
    from kpolicy.cli.advised_cluster import recorded_cluster

    cluster = recorded_cluster(args)
    if not args.pod:
        return _sums(args, cluster), cluster.snapshot
    namespace, name = _named(args, "default")
    return cluster.why(f"{namespace}/{name}"), cluster.snapshot


def _scope(args: argparse.Namespace) -> Scope:
    from kpolicy.offline.answers.advice import Scope

    return Scope(args.namespace, args.group)


async def _answer(args: argparse.Namespace) -> _Answer:
    from kpolicy.clock import SystemClock
    from kpolicy.cluster.api import ApiClient

    connection = await connect(args)
    async with ApiClient(connection, SystemClock()) as client:
        if not args.pod:
            return await _summed_up(args, client)
        namespace, name = _named(args, connection.namespace)
        pod = await found_pod(client, namespace, name)
        if pod is None:
            raise CannotWorkError(await _unknown(client, namespace, name))
        if url := scheduler_url(args):
            why = await _asked(args, url, pod)
            if why is not None:
                return why, None
        cluster = await _judged(args, client, pod)
        return cluster.why(f"{namespace}/{name}"), cluster.snapshot


async def _summed_up(args: argparse.Namespace, client: ApiClient) -> _Answer:
    from kpolicy.cli.running_scheduler import summed_up
    from kpolicy.offline.answers.advice import sums_of

    if url := scheduler_url(args):
        line = await summed_up(args, url, _scope(args))
        if line is not None:
            return replace(sums_of(json.loads(line)), judge=f"the kpolicy at {url}"), None
    cluster = await _judged(args, client, None)
    return _sums(args, cluster), cluster.snapshot


def _sums(args: argparse.Namespace, cluster: AdvisedCluster) -> Sums:
    """Says whose pods were judged by a profile that is not that of their scheduler."""
    from kpolicy.offline.reports.columns import counts_of_names
    from kpolicy.offline.snapshots.json_objects import DEFAULT_SCHEDULER

    is_default = cluster.work is not None and not args.policy and not args.policy_configmap
    others = cluster.schedulers(args.namespace) if is_default else Counter[str]()
    del others[DEFAULT_SCHEDULER]
    if others:
        print(
            "note: pending pods of other schedulers, judged as kube-scheduler judges: "
            f"{printable(counts_of_names(others))}; --policy or --scheduler asks theirs",
            file=sys.stderr,
        )
    return cluster.sums(_scope(args))


def _named(args: argparse.Namespace, context_namespace: str) -> tuple[str, str]:
    """As kubectl reads `pod/NAME`; with a namespace in front, as other verbs read it."""
    before, slash, name = args.pod.rpartition("/")
    if slash and before not in ("pod", "pods", "po"):
        if args.namespace not in (None, before):
            raise CannotWorkError(f"{args.pod} is not in the namespace {args.namespace}")
        return before, name
    return args.namespace or context_namespace, name


async def _unknown(client: ApiClient, namespace: str, name: str) -> str:
    from kpolicy.cluster.api import Response
    from kpolicy.diagnostics import did_you_mean
    from kpolicy.offline.snapshots.snapshot_problem import UNKNOWN_POD

    answer = await client.request("GET", f"/api/v1/namespaces/{namespace}/pods", {"limit": "500"})
    items = json.loads(answer.body).get("items", []) if isinstance(answer, Response) else []
    hint = did_you_mean(name, [item["metadata"]["name"] for item in items])
    text = f"{UNKNOWN_POD}: there is no pod {name} in the namespace {namespace}"
    return text + (f"; {hint}" if hint else "")


async def _asked(args: argparse.Namespace, url: str, pod: Mapping[str, Any]) -> Why | None:
    """The answer of a running kpolicy; None if it gives none."""
    from kpolicy.offline.answers.why import Why
    from kpolicy.offline.snapshots.json_objects import key_of

    line = await explained(args, url, key_of(pod), is_advised=True)
    if line is None:
        return None
    answer = json.loads(line)
    queue, advice = answer.pop("queue", {}), answer.pop("advice", {})
    return Why(dict(pod), answer, f"the kpolicy at {url}", queue=queue, advice=advice)


async def _judged(
    args: argparse.Namespace, client: ApiClient, pod: Mapping[str, Any] | None
) -> AdvisedCluster:
    """The listed cluster; its policy is that of the pod, if one is named."""
    from kpolicy.cli.advised_cluster import of_snapshot

    snapshot = await listed(client)
    program, judge = await _policy(args, client, pod, snapshot.cluster_version)
    return of_snapshot(snapshot, program, judge)


async def _policy(
    args: argparse.Namespace,
    client: ApiClient,
    pod: Mapping[str, Any] | None,
    cluster_version: str,
) -> tuple[Program, str]:
    """The policy by which the pod is judged, and its name."""
    from kpolicy.cli.advised_cluster import judged_by
    from kpolicy.offline.snapshots.cluster_snapshot import scheduler_of
    from kpolicy.offline.snapshots.json_objects import DEFAULT_SCHEDULER

    if args.policy:
        program = _loaded(args, all_sources(args.policy), cluster_version)
        return program, judged_by(program.policies)
    if args.policy_configmap:
        sources = await _of_config_map(args, client)
        judge = f"the policy of {args.policy_configmap}, here"
        return _loaded(args, sources, cluster_version), judge
    scheduler = DEFAULT_SCHEDULER if pod is None else scheduler_of(dict(pod))
    if scheduler != DEFAULT_SCHEDULER:
        raise CannotWorkError(
            f"the scheduler of this pod is `{scheduler}`: give its policy (--policy FILE or "
            "--policy-configmap NS/NAME), or ask it (--scheduler URL)"
        )
    return _loaded(args, (), cluster_version), "kube-scheduler's default profile, here"


def _loaded(args: argparse.Namespace, sources: Sequence[Source], cluster_version: str) -> Program:
    return load_program(args, sources, every_pod=False, cluster_version=cluster_version)


async def _of_config_map(args: argparse.Namespace, client: ApiClient) -> list[Source]:
    from kpolicy.policy.yaml.source import Source

    namespace, slash, name = args.policy_configmap.partition("/")
    if not slash or not name:
        raise CannotWorkError("--policy-configmap is NAMESPACE/NAME")
    config_map = await found_config_map(client, namespace, name)
    if config_map is None:
        raise CannotWorkError(f"there is no ConfigMap {args.policy_configmap}")
    return [
        Source(f"{args.policy_configmap}/{key}", text.encode())
        for key, text in texts_of(config_map).items()
    ]


WHY: Final = Verb(
    "why",
    "Say why a pod is pending: on how many nodes for which reason, and the smallest changes that "
    "would place it. Of a pod on a node, say why it is there.",
    _why,
    (
        argument(
            "pod",
            metavar="POD",
            nargs="?",
            default="",
            help="NAME, pod/NAME or NAMESPACE/NAME (default: all pods of --namespace, summed up)",
        ),
        NAMESPACE,
        argument(
            "--group",
            metavar="NAME",
            default="",
            help="without POD: only the pods of this group (the label "
            "scheduling.x-k8s.io/pod-group, or spec.schedulingGroup)",
        ),
        argument(
            "--snapshot",
            "-s",
            action="extend",
            nargs="+",
            default=[],
            metavar="FILE|DIR|-",
            help=f"instead of a live cluster: {SNAPSHOT_HELP}; or a journal",
        ),
        argument(
            "--at",
            type=moment,
            metavar="TIME",
            help="with a journal as --snapshot: the cluster as it was then, as "
            "2026-11-01T22:00:00Z (default: at its end)",
        ),
        *CLUSTER,
        *SCHEDULER,
        repeatable(
            "--policy",
            metavar="FILE|DIR|-",
            help="the policy of the pod's scheduler; repeatable (default: for pods of "
            "default-scheduler, what kube-scheduler does)",
        ),
        argument(
            "--policy-configmap",
            metavar="NS/NAME",
            default="",
            help="the ConfigMap of the cluster that holds the policy",
        ),
        PARAM,
        *FOLLOWED,
        argument(
            "--top",
            type=whole_number(1),
            default=5,
            metavar="N",
            help="how many nodes a table of scores shows (default: %(default)s)",
        ),
        OUTPUT,
        HTML,
    ),
    _EPILOG,
)
