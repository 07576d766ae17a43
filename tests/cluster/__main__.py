"""`python -m tests.cluster build|run|path`: builds or runs the control plane from a terminal. It
uses only the standard library, because it runs before there is a virtual environment.
"""

from __future__ import annotations

import argparse
import signal
import sys
import threading
from collections.abc import Sequence
from types import FrameType

from tests.cluster.build import RELEASE, VERSIONS, binary_path, control_plane_binary
from tests.cluster.control_plane import ControlPlane
from tests.cluster.errors import ControlPlaneError

ZONES = 3


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.cluster", description=__doc__)
    verbs = parser.add_subparsers(dest="verb", required=True)
    verbs.add_parser("build", help="build the control plane's binary if it is not cached")
    verbs.add_parser("path", help="print the path of the binary")
    run = verbs.add_parser("run", help="run a control plane until ctrl-C")
    for verb in verbs.choices.values():
        verb.add_argument(
            "--release", choices=tuple(VERSIONS), default=RELEASE, help="of Kubernetes"
        )
    run.add_argument("--nodes", type=int, default=0, metavar="N", help="create N ready nodes")
    run.add_argument(
        "--controller-manager",
        action="store_true",
        help="deployments, jobs and so on make pods; namespaces can be deleted",
    )
    run.add_argument(
        "--kube-scheduler", action="store_true", help="pods without a schedulerName are placed"
    )
    chosen = parser.parse_args(arguments)
    try:
        if chosen.verb == "path":
            return _path(chosen.release)
        if chosen.verb == "build":
            built = control_plane_binary(release=chosen.release)
            print(f"{built.path}\n{built.harness.version}")
            return 0
        plane = ControlPlane(control_plane_binary(release=chosen.release))
        return _run(plane, chosen.nodes, chosen.controller_manager, chosen.kube_scheduler)
    except ControlPlaneError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130


def _path(release: str) -> int:
    path = binary_path(release)
    print(path)
    if path.exists():
        return 0
    print("not built yet: python -m tests.cluster build", file=sys.stderr)
    return 1


def _run(made: ControlPlane, nodes: int, controller_manager: bool, kube_scheduler: bool) -> int:
    ended = threading.Event()

    def end(_number: int, _frame: FrameType | None) -> None:
        ended.set()

    with made as plane:
        if nodes:
            plane.admin.create_nodes(
                nodes,
                each=lambda index: {
                    "labels": {"topology.kubernetes.io/zone": f"zone-{index % ZONES}"}
                },
            )
        if controller_manager:
            plane.start_controller_manager()
        if kube_scheduler:
            plane.start_scheduler()
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, end)
        print(plane.harness.version)
        print(
            f"listens on {plane.server}, with {nodes} nodes; logs and audit.log in {plane.folder}"
        )
        print("\nIn another terminal:\n")
        print(f"  export KUBECONFIG={plane.kubeconfig()}")
        print(f"  alias kubectl='{plane.binary.path} kubectl'")
        print("  kubectl get nodes")
        print("\nctrl-C ends it.", flush=True)
        while not ended.wait(1):
            for process in (plane.etcd, plane.api_server):
                process.raise_if_ended()
    return 0


if __name__ == "__main__":
    sys.exit(main())
