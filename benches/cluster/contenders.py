"""The schedulers that are compared, each with the command that an operator would start.

kube-scheduler gets high client limits. With its default of 50 requests a second, the limit would be
measured.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from benches.cluster import idle_plugin
from tests.cluster import components
from tests.cluster.control_plane import ControlPlane
from tests.cluster.readiness import free_ports
from tests.cluster.users import KUBE_SCHEDULER, NORMAL

OURS: Final = "kpolicy"
THEIRS: Final = "kube-scheduler"
TRACED: Final = "kpolicy, traced"
PLUGGED: Final = "kpolicy, plugged"
OTHER_BUILD: Final = "kpolicy, other"
_REQUESTS_PER_SECOND: Final = 5000


@dataclass(frozen=True, slots=True)
class Contender:
    """A scheduler; `command` gets a folder for its configuration, `user` is whom it is to the API
    server."""

    name: str
    scheduler_name: str
    user: str
    command: Callable[[ControlPlane, Path], tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class Kpolicy:
    """kpolicy with the shipped policy; all nodes are scored. `python` is the interpreter that it is
    installed for, `environment` is added to this process's."""

    python: str = sys.executable
    flags: tuple[str, ...] = ("--no-leader-elect",)
    environment: Mapping[str, str] = field(default_factory=dict)

    def __call__(self, plane: ControlPlane, folder: Path) -> tuple[str, ...]:
        (port,) = free_ports(1)
        variables = (f"{name}={value}" for name, value in self.environment.items())
        return (
            "env",
            *variables,
            self.python,
            "-m",
            "kpolicy",
            "run",
            f"--kubeconfig={plane.kubeconfig(NORMAL)}",
            f"--port={port}",
            *self.flags,
        )


def kube_scheduler(plane: ControlPlane, folder: Path) -> tuple[str, ...]:
    (port,) = free_ports(1)
    kubeconfig = plane.kubeconfig(KUBE_SCHEDULER)
    configuration = folder / "kube-scheduler.json"
    configuration.write_text(
        json.dumps(
            {
                "apiVersion": "kubescheduler.config.k8s.io/v1",
                "kind": "KubeSchedulerConfiguration",
                "clientConnection": {
                    "kubeconfig": str(kubeconfig),
                    "qps": _REQUESTS_PER_SECOND,
                    "burst": _REQUESTS_PER_SECOND,
                },
                "leaderElection": {"leaderElect": False},
            }
        )
    )
    flags = (f"--config={configuration}",)
    words = components.scheduler(kubeconfig, port, plane.harness.minor, flags)
    return (str(plane.binary.path), *words)


def peers() -> tuple[Contender, ...]:
    return (
        Contender(THEIRS, "default-scheduler", KUBE_SCHEDULER, kube_scheduler),
        Contender(OURS, "kpolicy", NORMAL, Kpolicy()),
    )


def builds(python: str) -> tuple[Contender, ...]:
    """Another build of kpolicy, installed for this Python, and the one of this process."""
    return (
        Contender(OTHER_BUILD, "kpolicy", NORMAL, Kpolicy(python)),
        Contender(OURS, "kpolicy", NORMAL, Kpolicy()),
    )


def plugged() -> tuple[Contender, ...]:
    """kpolicy without plugins, and with one that does nothing at each point."""
    plugin = f"--plugin={idle_plugin.__name__}:{idle_plugin.Idle.__name__}"
    flags = (*Kpolicy().flags, plugin)
    return (
        Contender(OURS, "kpolicy", NORMAL, Kpolicy()),
        Contender(PLUGGED, "kpolicy", NORMAL, Kpolicy(flags=flags)),
    )


def traced(collector: str, share: float) -> tuple[Contender, ...]:
    """kpolicy without traces, and with this share of traces sent to the collector at this URL."""
    environment = {
        "OTEL_TRACES_EXPORTER": "otlp",
        "OTEL_EXPORTER_OTLP_ENDPOINT": collector,
        "OTEL_TRACES_SAMPLER": "parentbased_traceidratio",
        "OTEL_TRACES_SAMPLER_ARG": str(share),
    }
    return (
        Contender(OURS, "kpolicy", NORMAL, Kpolicy()),
        Contender(TRACED, "kpolicy", NORMAL, Kpolicy(environment=environment)),
    )
