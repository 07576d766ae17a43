"""Settings of a KubeSchedulerConfiguration that concern the process and not its decisions.

A policy can be delivered to a scheduler that runs, so these settings are flags of `kpolicy run`. A
finding names each that says something else than kube-scheduler's default, or asks for what kpolicy
has not.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from kpolicy.diagnostics import Diagnostic
from kpolicy.policy.codes.registry import remark
from kpolicy.policy.models.go_durations import seconds_of
from kpolicy.policy.yaml.nodes import Mapping, Path, Scalar, find

# By its place: what needs no finding, and what to use instead.
_SETTINGS: Final[dict[Path, tuple[tuple[str, ...], str]]] = {
    ("podInitialBackoffSeconds",): (("1",), "give `kpolicy run --pod-initial-backoff={value}`"),
    ("podMaxBackoffSeconds",): (("10",), "give `kpolicy run --pod-max-backoff={value}`"),
    ("parallelism",): (("16",), "give `kpolicy run --engine-threads=N`; the default is all cores"),
    ("leaderElection", "leaderElect"): (("true",), "give `kpolicy run --no-leader-elect`"),
    ("leaderElection", "leaseDuration"): (
        ("15s", "0s"),
        "give `kpolicy run --lease-duration={seconds}`",
    ),
    ("leaderElection", "renewDeadline"): (
        ("10s", "0s"),
        "give `kpolicy run --lease-renew-deadline={seconds}`",
    ),
    ("leaderElection", "retryPeriod"): (
        ("2s", "0s"),
        "give `kpolicy run --lease-retry-period={seconds}`",
    ),
    ("leaderElection", "resourceLock"): (("leases", ""), "kpolicy holds a Lease"),
    ("leaderElection", "resourceName"): (
        ("kube-scheduler", ""),
        "give `kpolicy run --lease-name={value}`",
    ),
    ("leaderElection", "resourceNamespace"): (
        ("kube-system", ""),
        "give `kpolicy run --lease-namespace={value}`",
    ),
    ("clientConnection", "kubeconfig"): (("",), "give `kpolicy run --kubeconfig={value}`"),
    ("clientConnection", "qps"): (
        ("50", "50.0", "0"),
        "kpolicy limits requests under way: give `kpolicy run --binds-in-flight=N`",
    ),
    ("clientConnection", "burst"): (
        ("100", "0"),
        "kpolicy limits requests under way: give `kpolicy run --binds-in-flight=N`",
    ),
    ("clientConnection", "contentType"): (
        ("application/vnd.kubernetes.protobuf", "application/json", ""),
        "kpolicy speaks JSON",
    ),
    ("enableProfiling",): (
        ("false",),
        "kpolicy has no page of profiles; SIGUSR1 shows its threads",
    ),
    ("enableContentionProfiling",): (("false",), "kpolicy has no page of profiles"),
    ("delayCacheUntilActive",): (
        ("false",),
        "a replica of kpolicy that does not lead keeps its view of the cluster up to date",
    ),
    ("healthzBindAddress",): (("",), "give `kpolicy run --bind-address` and `--port`"),
    ("metricsBindAddress",): (("",), "give `kpolicy run --bind-address` and `--port`"),
}


def process_settings(root: Mapping) -> Iterator[Diagnostic]:
    """The findings about a configuration."""
    for path, (fine, hint) in _SETTINGS.items():
        node = find(root, path)
        if isinstance(node, Scalar) and node.text not in fine:
            name = ".".join(map(str, path))
            yield remark(
                "KP604",
                f"`{name}` is a setting of the process, which a policy does not change",
                node.span,
                hint=hint.format(value=node.text, seconds=_seconds(node.text)),
            )


def _seconds(duration: str) -> str:
    """What a flag takes for a duration such as `1m30s`."""
    seconds = seconds_of(duration)
    return "SECONDS" if seconds is None else f"{seconds:g}"
