"""`kpolicy snapshot record --follow`: a journal of a live cluster, whichever scheduler it has."""

from __future__ import annotations

import argparse
import asyncio
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Final

from kpolicy.cli.interrupts import run_async
from kpolicy.cli.live_cluster import connect, print_left_out
from kpolicy.cli.verb import FINE, CannotWorkError
from kpolicy.journal.disk_size import bytes_of

if TYPE_CHECKING:
    from kpolicy.cluster.watch.resource import Resource
    from kpolicy.journal.journal_thread import Journal

_RUN_BITS: Final = 32


def follow_cluster(args: argparse.Namespace, wanted: list[Resource]) -> int:
    """`args` has the flags of `snapshot record`. Ends at ctrl-C, and after `--for`."""
    journal = run_async(_follow(args, wanted))
    made = journal.statistics()
    print(f"recorded {made.calls:,} lists and changes in {args.follow}", file=sys.stderr)
    if made.gaps:
        print(f"warning: the journal has {made.gaps:,} gaps", file=sys.stderr)
    return FINE


async def _follow(args: argparse.Namespace, wanted: list[Resource]) -> Journal:
    from kpolicy.clock import SystemClock, first_of
    from kpolicy.cluster.api import ApiClient
    from kpolicy.cluster.connection_problem import ConnectionProblem
    from kpolicy.cluster.probe import ServerVersion, probe
    from kpolicy.recorder.following import follow
    from kpolicy.recorder.record import Recording, allowed_kinds

    clock, loop = SystemClock(), asyncio.get_running_loop()
    stopped, anew = asyncio.Event(), asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stopped.set)
    async with ApiClient(await connect(args), clock) as client:
        server = await probe(client)
        if not isinstance(server, ServerVersion):
            raise CannotWorkError(str(server))
        made = Recording(server.git_version)
        allowed = await allowed_kinds(client, wanted, made, skip_forbidden=args.skip_forbidden)
        if isinstance(allowed, ConnectionProblem):
            raise CannotWorkError(str(allowed))
        print_left_out(made)
        journal = _opened(
            args.follow,
            bytes_of(args.journal_size),
            server.git_version,
            on_anew=lambda: loop.call_soon_threadsafe(anew.set),
        )
        try:
            following = follow(
                client,
                journal,
                clock,
                Random(),
                wanted=allowed,
                anew=anew,
                on_synced=lambda: print("every list is recorded; following", file=sys.stderr),
            )
            async with clock.move_on_after(args.seconds or float("inf")):
                await first_of(following, stopped.wait())
        finally:
            await asyncio.to_thread(journal.stop)
    return journal


def _opened(
    folder: Path, bytes_max: int, cluster_version: str, *, on_anew: Callable[[], object]
) -> Journal:
    from kpolicy.clock import SystemClock
    from kpolicy.journal.journal_thread import OWN_FOLDER, begun
    from kpolicy.journal.segment_format import SegmentHeader
    from kpolicy.recorder.following import RECORDER

    clock = SystemClock()
    run = f"{Random().getrandbits(_RUN_BITS):08x}"
    first = SegmentHeader(run, RECORDER, clock.now_ns(), seed=0, cluster_version=cluster_version)
    journal = begun(folder, first, bytes_max, clock, on_anew)
    if isinstance(journal, str):
        raise CannotWorkError(f"KPS211: {journal} ({OWN_FOLDER})")
    return journal
