"""Writes the pages of `--html`: an answer with charts, in one file."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kpolicy.api_times import api_time
from kpolicy.cli.input_output import write_back

if TYPE_CHECKING:
    from kpolicy.offline.snapshots.cluster_snapshot import Snapshot


def write_explain_page(
    args: argparse.Namespace,
    lines: Iterable[bytes | memoryview],
    snapshot: Snapshot | None = None,
) -> None:
    """Without a snapshot, the page has no map of the nodes."""
    from kpolicy.offline.pages.explain_page import explain_page
    from kpolicy.offline.pages.shown_cluster import shown_cluster

    document = {"explanations": [json.loads(bytes(line)) for line in lines]}
    cluster = None if snapshot is None else shown_cluster(snapshot)
    _write(args.html, explain_page(document, cluster, _whose(args)))


def write_why_page(
    args: argparse.Namespace, document: Mapping[str, Any], snapshot: Snapshot | None
) -> None:
    """`document` is of one pod, or of the pods of a namespace or a group."""
    from kpolicy.offline.pages.shown_cluster import shown_cluster
    from kpolicy.offline.pages.why_page import why_all_page, why_page

    on = ", ".join(args.snapshot) or "the cluster of kubectl"
    at = f" at {api_time(args.at)}" if args.at is not None else ""
    if "pod" in document:
        cluster = None if snapshot is None else shown_cluster(snapshot)
        about = f"judged by {document['judgedBy']}, on {on}{at}"
        _write(args.html, why_page(document, cluster, about))
    else:
        _write(args.html, why_all_page(document, f"on {on}{at}"))


def write_simulate_page(
    args: argparse.Namespace, document: Mapping[str, Any], snapshot: Snapshot
) -> None:
    from kpolicy.offline.pages.shown_cluster import shown_cluster
    from kpolicy.offline.pages.simulate_page import simulate_page

    _write(args.html, simulate_page(document, shown_cluster(snapshot), _whose(args)))


def write_diff_page(
    args: argparse.Namespace, document: Mapping[str, Any], snapshot: Snapshot
) -> None:
    from kpolicy.offline.pages.diff_page import diff_page
    from kpolicy.offline.pages.shown_cluster import shown_cluster

    old = args.old or "kube-scheduler"
    policies = f"{old} → {args.new or old}"
    releases = f", as Kubernetes {' → '.join(args.release)}" if args.release else ""
    about = f"policies {policies}{releases}, on {', '.join(args.snapshot)}"
    _write(args.html, diff_page(document, shown_cluster(snapshot), about))


def write_plan_page(args: argparse.Namespace, document: Mapping[str, Any]) -> None:
    from kpolicy.offline.pages.plan_page import plan_page

    names = f"{document['old']['policy']} → {document['new']['policy']}"
    about = f"{names}, over {', '.join((*args.snapshot, *args.journal))}"
    _write(args.html, plan_page(document, about))


def write_days_page(args: argparse.Namespace, document: Mapping[str, Any]) -> None:
    from kpolicy.offline.pages.days_page import days_page

    policy = ", ".join(args.policy) or "kube-scheduler-default"
    _write(args.html, days_page(document, f"policy {policy}, in the days of {args.scenario}"))


def write_sweep_page(args: argparse.Namespace, document: Mapping[str, Any]) -> None:
    from kpolicy.offline.pages.sweep_page import sweep_page

    _write(args.html, sweep_page(document, f"on {args.trace or args.scenario}"))


def _whose(args: argparse.Namespace) -> str:
    """Whose decisions a page shows, and on what."""
    policy = ", ".join(args.policy) or "kube-scheduler-default"
    return f"policy {policy}, on {', '.join(args.snapshot) or 'the cluster of kubectl'}"


def _write(path: Path, page: str) -> None:
    write_back(path, page.encode())
    print(f"{path} is written", file=sys.stderr)
