"""KP504: a snapshot that was recorded with another kpolicy, or of another Kubernetes.

Owns which versions are near enough: those of one minor release. Assumes headers of recorded files.
Must not know policies.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from kpolicy.diagnostics import Diagnostic, Place
from kpolicy.offline.snapshot import Recorded
from kpolicy.policy.codes.registry import remark
from kpolicy.version import KUBERNETES_RELEASE, VERSION


def of_other_versions(recordings: Iterable[Recorded]) -> Iterator[Diagnostic]:
    """A file that does not say its cluster's version (a redacted one may not) is taken as it is."""
    for one in recordings:
        at = Place(one.source, 1, 1, 1, 1)
        recorder, cluster = one.header.kpolicy_version, one.header.origin.cluster_version
        if _minor(recorder) != _minor(VERSION):
            message = f"recorded with kpolicy {recorder}; this is {VERSION}"
            hint = "record it again, or read what may differ in the changelog"
            yield remark("KP504", message, hint=hint).at(at)
        if cluster and _minor(cluster) != KUBERNETES_RELEASE:
            message = (
                f"recorded of Kubernetes {cluster}; kpolicy decides as {KUBERNETES_RELEASE} does"
            )
            hint = "kube-scheduler of that cluster may have decided otherwise"
            yield remark("KP504", message, hint=hint).at(at)


def _minor(version: str) -> str:
    """`v1.36.2-gke.100` as `1.36`."""
    return ".".join(version.removeprefix("v").split(".")[:2])
