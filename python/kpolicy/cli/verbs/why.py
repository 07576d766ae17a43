"""`kpolicy why`: why a pod of a live cluster is pending, or why it is where it is.

Asks a running kpolicy if one is named and lets the user in; otherwise lists the cluster and judges
by the pod's policy here.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from kpolicy.cli.input_output import (
    all_sources,
    load_program,
    print_problems,
    refusals_reported,
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
    OUTPUT,
    PARAM,
    CannotWorkError,
    Verb,
    argument,
    repeatable,
    whole_number,
)

if TYPE_CHECKING:
    from kpolicy.cluster.api import ApiClient
    from kpolicy.offline.answers.why import Why
    from kpolicy.policy.assembly.assemble import Program
    from kpolicy.policy.yaml.source import Source

_EPILOG: Final = """\
POD is NAME, pod/NAME or NAMESPACE/NAME. Without --scheduler, the cluster is listed (pods, nodes and
what else rules read; never Secrets) and judged here: pods of kube-scheduler by its default profile,
pods of others by --policy or --policy-configmap. Nothing is changed.

exit: 0 answered, 1 the policy has errors, 2 could not work
"""


def _why(args: argparse.Namespace) -> int:
    from kpolicy.offline.reports.why_text import why_text

    why = run_async(_answer(args))
    if args.output == "json":
        write_document("why", why.line())
    elif args.output == "jsonl":
        write_lines([why.line()])
    else:
        print("\n".join(why_text(why, args.top, text_width())))
    return 0


async def _answer(args: argparse.Namespace) -> Why:
    from kpolicy.clock import SystemClock
    from kpolicy.cluster.api import ApiClient

    connection = await connect(args)
    namespace, name = _named(args, connection.namespace)
    async with ApiClient(connection, SystemClock()) as client:
        pod = await found_pod(client, namespace, name)
        if pod is None:
            raise CannotWorkError(await _unknown(client, namespace, name))
        if url := scheduler_url(args):
            why = await _asked(args, url, pod)
            if why is not None:
                return why
        return await _judged(args, client, pod)


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

    answer = await client.request("GET", f"/api/v1/namespaces/{namespace}/pods", {"limit": "500"})
    items = json.loads(answer.body).get("items", []) if isinstance(answer, Response) else []
    hint = did_you_mean(name, [item["metadata"]["name"] for item in items])
    return f"there is no pod {name} in the namespace {namespace}" + (f"; {hint}" if hint else "")


async def _asked(args: argparse.Namespace, url: str, pod: Mapping[str, Any]) -> Why | None:
    """The answer of a running kpolicy; None if it gives none."""
    from kpolicy.offline.answers.why import Why
    from kpolicy.offline.snapshots.json_objects import key_of

    line = await explained(args, url, key_of(pod))
    if line is None:
        return None
    answer = json.loads(line)
    queue = answer.pop("queue", {})
    return Why(dict(pod), answer, f"the kpolicy at {url}", queue=queue)


async def _judged(args: argparse.Namespace, client: ApiClient, pod: Mapping[str, Any]) -> Why:
    from kpolicy.offline.answers.pod_decisions import Explaining
    from kpolicy.offline.answers.why import Why, needs
    from kpolicy.offline.snapshots.json_objects import key_of

    snapshot = await listed(client)
    program, judge = await _policy(args, client, pod, snapshot.cluster_version)
    with refusals_reported():
        work = Explaining(snapshot, program)
    print_problems(snapshot)
    lines = list(work.lines_of([key_of(pod)]))
    if work.not_explained:
        raise CannotWorkError("\n".join(map(str, work.not_explained)))
    answer = json.loads(lines[0])
    return Why(dict(pod), answer, judge, needs(snapshot, dict(pod), answer))


async def _policy(
    args: argparse.Namespace, client: ApiClient, pod: Mapping[str, Any], cluster_version: str
) -> tuple[Program, str]:
    """The policy by which the pod is judged, and its name."""
    from kpolicy.offline.snapshots.cluster_snapshot import scheduler_of
    from kpolicy.offline.snapshots.json_objects import DEFAULT_SCHEDULER

    if args.policy:
        program = _loaded(args, all_sources(args.policy), cluster_version)
        return program, _named_policies(program.policies)
    if args.policy_configmap:
        sources = await _of_config_map(args, client)
        judge = f"the policy of {args.policy_configmap}, here"
        return _loaded(args, sources, cluster_version), judge
    scheduler = scheduler_of(dict(pod))
    if scheduler != DEFAULT_SCHEDULER:
        raise CannotWorkError(
            f"the scheduler of this pod is `{scheduler}`: give its policy (--policy FILE or "
            "--policy-configmap NS/NAME), or ask it (--scheduler URL)"
        )
    return _loaded(args, (), cluster_version), "kube-scheduler's default profile, here"


def _named_policies(names: Sequence[str]) -> str:
    """A policy that stands on others has their names behind its own."""
    first, *others = names
    below = f" (on {', '.join(others)})" if others else ""
    return f"the policy {first}{below}, here"


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
    "Say why a pod of a live cluster is pending: on how many nodes for which reason, and what to "
    "do next. Of a pod on a node, say why it is there.",
    _why,
    (
        argument("pod", metavar="POD", help="NAME, pod/NAME or NAMESPACE/NAME"),
        NAMESPACE,
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
    ),
    _EPILOG,
)
