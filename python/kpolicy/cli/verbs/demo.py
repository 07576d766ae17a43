"""`kpolicy demo`: the real scheduler on an embedded control plane, without a cluster."""

from __future__ import annotations

import argparse
import asyncio
import os
import signal
import sys
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Final

from kpolicy.cli.input_output import is_color
from kpolicy.cli.verb import CANNOT_WORK, FINE, Verb, argument, whole_number
from kpolicy.version import VERSION

if TYPE_CHECKING:
    from kpolicy.demo.story import Story
    from kpolicy.telemetry.traces import Traces

FAILED: Final = 1
# Some of every kind of pod.
PODS_MIN = 20
NODES_MAX, PODS_MAX = 5_000, 50_000


def _main(args: argparse.Namespace) -> int:
    from rich.console import Console

    from kpolicy.demo.story import DemoFailed, Scale, Story
    from kpolicy.telemetry import logs

    handler = logs.install("text", "warning")
    scale, traces = Scale(args.nodes, args.pods, args.seed), _traces(args.seed)
    console = Console(
        no_color=not is_color(args.color),
        color_system="standard" if args.color == "always" else "auto",
    )
    story = Story(scale, console, args.keep, args.kubeconfig, traces)
    try:
        asyncio.run(_run(story))
    except (DemoFailed, OSError) as failure:
        print(f"kpolicy demo: {failure}", file=sys.stderr)
        return FAILED if isinstance(failure, DemoFailed) else CANNOT_WORK
    except (asyncio.CancelledError, KeyboardInterrupt):
        return FINE if args.keep else 130
    finally:
        traces.stop()
        logs.uninstall(handler)
    return FINE


def _traces(seed: int) -> Traces:
    """Where the OTEL_* variables send traces."""
    from kpolicy.telemetry.traces import traces_of

    setup = traces_of(os.environ, VERSION, Random(seed))
    for problem in setup.problems:
        print(f"kpolicy demo: {problem}", file=sys.stderr)
    return setup.traces


async def _run(story: Story) -> None:
    """Both signals end the demo in order. A shell that starts it in the background ignores SIGINT,
    unless the process handles that signal itself."""
    task = asyncio.current_task()
    assert task is not None
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, task.cancel)
    await story.tell()


DEMO: Final = Verb(
    "demo",
    "Start an embedded control plane and the scheduler, place pods by a shipped policy, change the "
    "policy half-way, explain two pods, and print a summary.",
    _main,
    (
        argument(
            "--nodes",
            type=whole_number(20, NODES_MAX),
            default=300,
            metavar="N",
            help="how many nodes (default: %(default)s)",
        ),
        argument(
            "--pods",
            type=whole_number(PODS_MIN, PODS_MAX),
            default=3000,
            metavar="N",
            help="how many pods (default: %(default)s)",
        ),
        argument(
            "--seed",
            type=int,
            default=7,
            help="the same seed makes the same pods (default: %(default)s)",
        ),
        argument(
            "--keep", action="store_true", help="print a KUBECONFIG to use, and run until ctrl-C"
        ),
        argument(
            "--kubeconfig", type=Path, metavar="FILE", help="write the kubeconfig to this file"
        ),
    ),
    "exit: 0 the demo worked, 1 it did not, 2 could not start",
)
