"""`kpolicy snapshot record`: a live cluster into a file.

Owns the verb's flags, where the file goes, what is said, and the exit code. The listing is that of
`kpolicy.recorder`.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from kpolicy.cli.outputs import add_destination_flag, refuse_terminal, written
from kpolicy.cli.verb import CannotWorkError

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


def add_parser(verbs: Any) -> None:  # argparse has no public name for this type
    record = verbs.add_parser(
        "record",
        help="record a live cluster",
        description="Write what a cluster holds into a file that every offline verb reads.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    environment = os.environ.get
    record.add_argument(
        "--kubeconfig", type=Path, default=environment("KPOLICY_KUBECONFIG"), metavar="FILE"
    )
    record.add_argument("--context", default=environment("KPOLICY_CONTEXT"), metavar="NAME")
    record.add_argument(
        "--kinds",
        metavar="KIND,…",
        help="record these alone, by their plural names as kubectl has them (default: all)",
    )
    record.add_argument(
        "--skip-forbidden",
        action="store_true",
        help="leave out kinds that may not be listed; the file says which",
    )
    add_destination_flag(record, "default: kpolicy-TIME.kpsnap")


def main(args: argparse.Namespace) -> int:
    from kpolicy.clock import SystemClock
    from kpolicy.offline.snapshot_file.header import Origin, moment
    from kpolicy.offline.snapshot_file.writer import Writer

    now_ns = SystemClock().now_ns()
    recorded = moment(now_ns)
    stamp = recorded.replace("-", "").replace(":", "")
    destination = args.output or f"kpolicy-{stamp}.kpsnap"
    refuse_terminal(destination)
    wanted = _wanted(args.kinds)
    with written(destination) as (stream, folder), Writer(folder) as writer:
        made = _record(args, writer, wanted)
        origin = Origin(recorded, made.cluster_version, made.resource_versions, made.left_out)
        header = writer.write(stream, origin)
    _say(made, destination, sum(header.content.counts.values()))
    return 0


def _record(args: argparse.Namespace, writer: Writer, wanted: list[Resource]) -> Recording:
    from kpolicy.cli.outputs import progress_bar
    from kpolicy.cluster.connection_problem import ConnectionProblem

    with progress_bar("recording the cluster") as progress:
        made = asyncio.run(_listed(args, writer, wanted, progress))
    if isinstance(made, ConnectionProblem):
        raise CannotWorkError(str(made))
    return made


async def _listed(
    args: argparse.Namespace, writer: Writer, wanted: list[Resource], progress: Progress | None
) -> Recording | ConnectionProblem:
    from kpolicy.clock import SystemClock
    from kpolicy.cluster.api import ApiClient
    from kpolicy.cluster.auth.load_connection import load_connection
    from kpolicy.cluster.connection_problem import ConnectionProblem
    from kpolicy.recorder.record import record

    clock = SystemClock()
    connection = await load_connection(
        os.environ, clock, kubeconfig=args.kubeconfig, context=args.context
    )
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


def _say(made: Recording, destination: str, objects: int) -> None:
    from kpolicy.recorder.record import NOT_ASKED_FOR

    for problem in made.problems:
        print(f"warning: {problem}", file=sys.stderr)
    missing = [kind for kind, why in made.left_out.items() if why != NOT_ASKED_FOR]
    if missing:
        print(f"warning: left out: {_told(made, missing)}", file=sys.stderr)
    if not made.is_of_one_moment:
        print(
            "note: the kinds are of different moments; `snapshot info` says which", file=sys.stderr
        )
    print(f"recorded {objects:,} objects in {destination}", file=sys.stderr)


def _told(made: Recording, kinds: Iterable[str]) -> str:
    return ", ".join(f"{kind} ({made.left_out[kind]})" for kind in sorted(kinds))
