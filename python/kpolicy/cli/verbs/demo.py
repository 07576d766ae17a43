"""`kpolicy demo`: the real scheduler on an embedded control plane, no cluster needed.

Owns its flags and exit status. Everything else is `kpolicy.demo`.
"""

from __future__ import annotations

import argparse
import asyncio
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kpolicy.demo.story import Story

FAILED = 1
NODES_MAX, PODS_MAX = 5_000, 50_000


def add_parser(subparsers: Any) -> None:  # argparse has no public name for this type
    parser: argparse.ArgumentParser = subparsers.add_parser(
        "demo",
        help="watch a policy place pods, without a cluster",
        description="Start a control plane of our own and the scheduler, place pods by a shipped "
        "policy, change the policy half-way, explain two pods, and print a summary.",
        epilog="exit: 0 it went as it should, 1 it did not, 2 could not work",
        allow_abbrev=False,
    )
    parser.add_argument("--nodes", type=_within(20, NODES_MAX), default=300, metavar="N")
    parser.add_argument("--pods", type=_within(100, PODS_MAX), default=3000, metavar="N")
    parser.add_argument("--seed", type=int, default=7, help="the same seed, the same pods")
    parser.add_argument(
        "--keep", action="store_true", help="stay until ctrl-C, and print a KUBECONFIG to use"
    )
    parser.add_argument(
        "--kubeconfig", type=Path, metavar="FILE", help="write the kubeconfig there"
    )


def main(args: argparse.Namespace) -> int:
    from rich.console import Console

    from kpolicy.demo.story import DemoFailed, Scale, Story
    from kpolicy.telemetry import logs

    handler = logs.install("text", "warning")
    story = Story(Scale(args.nodes, args.pods, args.seed), Console(), args.keep, args.kubeconfig)
    try:
        asyncio.run(_told(story))
    except DemoFailed as failure:
        print(f"kpolicy demo: {failure}", file=sys.stderr)
        return FAILED
    except OSError as failure:
        print(f"kpolicy demo: {failure}", file=sys.stderr)
        return 2
    except (asyncio.CancelledError, KeyboardInterrupt):
        return 0 if args.keep else 130
    finally:
        logs.uninstall(handler)
    return 0


async def _told(story: Story) -> None:
    """Both signals end it in order, also where a shell started it in the background: SIGINT is
    ignored there until somebody asks for it."""
    telling = asyncio.current_task()
    assert telling is not None
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, telling.cancel)
    await story.tell()


def _within(low: int, high: int) -> Any:
    def number(text: str) -> int:
        value = int(text)
        if not low <= value <= high:
            raise argparse.ArgumentTypeError(f"from {low} to {high}")
        return value

    number.__name__ = "number"
    return number
