"""`kpolicy top`: a view of a running kpolicy, on a terminal or once as text."""

from __future__ import annotations

import argparse
import os
import sys
from typing import TYPE_CHECKING, Final

from kpolicy.cli.interrupts import run_async
from kpolicy.cli.running_scheduler import SCHEDULER, refused, scheduler_client, scheduler_url
from kpolicy.cli.verb import CannotWorkError, Verb, argument, whole_number
from kpolicy.scheduler.limits import QUEUE_PAGE_PODS, QUEUE_PAGE_PODS_MAX

if TYPE_CHECKING:
    from kpolicy.cluster.request_failure import Failure

_DEFAULT_URL: Final = "http://127.0.0.1:10259"
_INTERVAL_S_MAX: Final = 3_600
# No screen can be drawn on these, so rich draws nothing.
_PLAIN_TERMINALS: Final = ("dumb", "unknown", "")
_EPILOG: Final = """\
Shows the queue, decisions a second, how many pods each rule keeps pending, and the pods that are
pending longest. Enter goes into a pod (its nodes by reason), a node (what each rule says of it) and
a rule (what each part of its expression gave). With --once, or if the output is no terminal or
one that draws no screens (TERM=dumb), one frame is printed as text.

exit: 0 shown, 2 could not work
"""


def _top(args: argparse.Namespace) -> int:
    url = scheduler_url(args) or _DEFAULT_URL
    can_draw = os.environ.get("TERM", "dumb") not in _PLAIN_TERMINALS
    is_once = args.once or not (can_draw and sys.stdout.isatty() and sys.stdin.isatty())
    failure = run_async(_shown(args, url, is_once=is_once))
    if failure is not None:
        hint = "" if scheduler_url(args) else " (--scheduler URL says where kpolicy is)"
        raise CannotWorkError(refused(url, failure) + hint)
    return 0


async def _shown(args: argparse.Namespace, url: str, *, is_once: bool) -> Failure | None:
    from kpolicy.clock import SystemClock
    from kpolicy.top.live_view import Source, once, run

    async with scheduler_client(args, url) as client:
        source = Source(client, SystemClock(), args.pods)
        if not is_once:
            return await run(source, url, args.interval)
        text = await once(source, url, args.interval)
        if not isinstance(text, str):
            return text
        print(text)
        return None


TOP: Final = Verb(
    "top",
    "Watch a running kpolicy: its queue, its decisions, the rules that keep pods pending, and why.",
    _top,
    (
        *SCHEDULER,
        argument("--once", action="store_true", help="print one frame as text, and end"),
        argument(
            "--interval",
            type=whole_number(1, _INTERVAL_S_MAX),
            default=1,
            metavar="SECONDS",
            help="the time between two frames, over which rates are counted (default: %(default)s)",
        ),
        argument(
            "--pods",
            type=whole_number(1, QUEUE_PAGE_PODS_MAX),
            default=QUEUE_PAGE_PODS,
            metavar="N",
            help="how many pods are listed (default: %(default)s)",
        ),
    ),
    _EPILOG,
)
