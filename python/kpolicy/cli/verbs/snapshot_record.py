"""`kpolicy snapshot record`: writes what a live cluster holds into a file."""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

from kpolicy.cli.flags import destination
from kpolicy.cli.outputs import progress_bar, refuse_terminal, written
from kpolicy.cli.verb import CannotWorkError, Verb, argument

if TYPE_CHECKING:
    from kpolicy.cluster.connection_problem import ConnectionProblem
    from kpolicy.cluster.watch.resource import Resource
    from kpolicy.offline.snapshot_file.writer import Writer
    from kpolicy.recorder.list_pages import Progress
    from kpolicy.recorder.record import Recording

_EPILOG: Final = """\
Reads what `kpolicy run` and policies read, and nothing else: never Secrets or ConfigMaps. Left out
of what is read: managed fields, and variables, arguments, commands and probes of containers. Names
stay; `kpolicy snapshot redact` replaces them. deploy/rbac/snapshot-recorder.yaml has the rights.

exit: 0 recorded, 2 could not work
"""


def _main(args: argparse.Namespace) -> int:
    from kpolicy.clock import SystemClock
    from kpolicy.cluster.connection_problem import ConnectionProblem
    from kpolicy.offline.snapshot_file.header import Origin, moment
    from kpolicy.offline.snapshot_file.writer import Writer

    recorded = moment(SystemClock().now_ns())
    stamp = recorded.replace("-", "").replace(":", "")
    file = args.output or f"kpolicy-{stamp}.kpsnap"
    refuse_terminal(file)
    wanted = _wanted(args.kinds)
    with written(file) as (stream, folder), Writer(folder) as writer:
        with progress_bar("recording the cluster") as progress:
            made = asyncio.run(_record(args, writer, wanted, progress))
        if isinstance(made, ConnectionProblem):
            raise CannotWorkError(str(made))
        origin = Origin(recorded, made.cluster_version, made.resource_versions, made.left_out)
        header = writer.write(stream, origin)
    _print_notes(made)
    objects = sum(header.content.counts.values())
    print(f"recorded {objects:,} objects in {file}", file=sys.stderr)
    return 0


async def _record(
    args: argparse.Namespace, writer: Writer, wanted: list[Resource], progress: Progress | None
) -> Recording | ConnectionProblem:
    from kpolicy.clock import SystemClock
    from kpolicy.cluster.api import ApiClient
    from kpolicy.cluster.auth.load_connection import load_connection
    from kpolicy.cluster.connection_problem import ConnectionProblem
    from kpolicy.recorder.record import record

    clock = SystemClock()
    variable = os.environ.get("KPOLICY_KUBECONFIG")
    kubeconfig = args.kubeconfig or (Path(variable) if variable else None)
    context = args.context or os.environ.get("KPOLICY_CONTEXT")
    connection = await load_connection(os.environ, clock, kubeconfig=kubeconfig, context=context)
    if isinstance(connection, ConnectionProblem):
        return connection
    async with ApiClient(connection, clock) as client:
        return await record(
            client,
            writer,
            clock,
            wanted=wanted,
            skip_forbidden=args.skip_forbidden,
            progress=progress,
        )


def _wanted(written_kinds: str | None) -> list[Resource]:
    from kpolicy.policy.nearest import did_you_mean
    from kpolicy.recorder.list_pages import RECORDED

    known = {resource.name: resource for resource in RECORDED}
    names = [name.strip() for name in (written_kinds or "").split(",") if name.strip()]
    if written_kinds is not None and not names:
        raise CannotWorkError("--kinds names no kind; without it all are recorded")
    for name in names:
        if name not in known:
            hint = did_you_mean(name, known) or f"kinds are {', '.join(known)}"
            raise CannotWorkError(f"--kinds: `{name}` is not a kind that is recorded; {hint}")
    return [resource for name, resource in known.items() if not names or name in names]


def _print_notes(made: Recording) -> None:
    from kpolicy.recorder.record import NOT_ASKED_FOR

    for problem in made.problems:
        print(f"warning: {problem}", file=sys.stderr)
    missing = [
        f"{kind} ({why})" for kind, why in sorted(made.left_out.items()) if why != NOT_ASKED_FOR
    ]
    if missing:
        print(f"warning: left out: {', '.join(missing)}", file=sys.stderr)
    if not made.is_of_one_moment:
        print(
            "note: the kinds are of different moments; `snapshot info` says which", file=sys.stderr
        )


VERB: Final = Verb(
    "record",
    "Write what a cluster holds into a file that every offline verb reads.",
    _main,
    (
        argument("--kubeconfig", type=Path, metavar="FILE"),
        argument("--context", metavar="NAME"),
        argument(
            "--kinds",
            metavar="KIND,…",
            help="record these alone, by their plural names as kubectl has them (default: all)",
        ),
        argument(
            "--skip-forbidden",
            action="store_true",
            help="leave out kinds that may not be listed; the file says which",
        ),
        destination("default: kpolicy-TIME.kpsnap"),
    ),
    _EPILOG,
    "record a live cluster",
)
