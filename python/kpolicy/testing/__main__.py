"""`python -m kpolicy.testing`: an embedded control plane for a person with kubectl."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

from kpolicy.testing.builders import node
from kpolicy.testing.control_plane import ControlPlane
from kpolicy.testing.kubelet import KubeletTimes

PORT_MAX = 65_535
NODES_MAX = 100_000
ZONES = ("zone-a", "zone-b", "zone-c")


def parser() -> argparse.ArgumentParser:
    flags = argparse.ArgumentParser(
        prog="python -m kpolicy.testing",
        description="Serve a small Kubernetes API on the loopback until Ctrl-C.",
    )
    flags.add_argument(
        "--port", type=int, default=0, help="port to listen on (default: a free one)"
    )
    flags.add_argument("--nodes", type=int, default=3, help="nodes to start with (default: 3)")
    flags.add_argument("--kubeconfig", type=Path, help="file to write a kubeconfig to")
    flags.add_argument(
        "--no-kubelet", action="store_true", help="leave bound pods pending, as without kubelets"
    )
    return flags


async def serve(arguments: argparse.Namespace) -> None:
    times = None if arguments.no_kubelet else KubeletTimes()
    async with ControlPlane(port=arguments.port, kubelet=times) as control_plane:
        for number in range(arguments.nodes):
            labels = {"topology.kubernetes.io/zone": ZONES[number % len(ZONES)]}
            control_plane.add(node(f"node-{number + 1}", labels=labels))
        print(control_plane.url, flush=True)
        if arguments.kubeconfig is not None:
            path = control_plane.write_kubeconfig(arguments.kubeconfig)
            print(f"kubectl --kubeconfig {path} get nodes", file=sys.stderr)
        ended = asyncio.Event()
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, ended.set)
        await ended.wait()


def main(words: Sequence[str] | None = None) -> int:
    flags = parser()
    arguments = flags.parse_args(words)
    for name, most in (("port", PORT_MAX), ("nodes", NODES_MAX)):
        if not 0 <= getattr(arguments, name) <= most:
            flags.error(f"argument --{name}: must be from 0 to {most}")
    try:
        with contextlib.suppress(KeyboardInterrupt):
            asyncio.run(serve(arguments))
    except OSError as error:
        print(f"cannot serve: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
