"""A page of each kind, made of an answer on a small cluster whose names are an attack on pages; one
of a large cluster; and one with every chart.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, Final

from kpolicy.cli.advised_cluster import of_snapshot
from kpolicy.offline.answers.advice import Scope
from kpolicy.offline.answers.pod_decisions import explain, simulate
from kpolicy.offline.answers.policy_diff import diff
from kpolicy.offline.pages.bar_chart import Bars, BarSeries
from kpolicy.offline.pages.days_page import days_page
from kpolicy.offline.pages.diff_page import diff_page
from kpolicy.offline.pages.explain_page import explain_page
from kpolicy.offline.pages.heat_map import Cell, HeatMap, Row
from kpolicy.offline.pages.move_chart import Move, Moves
from kpolicy.offline.pages.node_map import MapNode, NodeMap
from kpolicy.offline.pages.page_frame import Figure, Page, Section
from kpolicy.offline.pages.plan_page import plan_page
from kpolicy.offline.pages.shown_cluster import shown_cluster
from kpolicy.offline.pages.simulate_page import simulate_page
from kpolicy.offline.pages.sweep_page import sweep_page
from kpolicy.offline.pages.time_series import Line, TimeSeries
from kpolicy.offline.pages.why_page import why_all_page, why_page
from kpolicy.offline.snapshots.cluster_snapshot import Snapshot
from kpolicy.policy.assembly.assemble import Program
from kpolicy.policy.compile import compile_policy, shipped_source

# What runs, ends an element or breaks a text where it is not escaped.
HOSTILE: Final = (
    "</script><script>throw 1</script><img src=x onerror=throw(2)>'\"&\u2028\u2029{b}\x01"
)
LARGE: Final = 5_000
_DOCUMENTS: Final = Path(__file__).parent / "documents"


def node(name: str, zone: str, rack: str, cpu: int, taints: bool = False) -> dict[str, Any]:
    labels = {"topology.kubernetes.io/zone": zone, "example.com/rack": rack}
    taint = {"taints": [{"key": HOSTILE, "value": HOSTILE, "effect": "NoSchedule"}]}
    amounts = {"cpu": str(cpu), "memory": "16Gi", "pods": "110"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels},
        "spec": taint if taints else {},
        "status": {"allocatable": amounts, "capacity": amounts},
    }


def pod(name: str, cpu: str, on: str = "") -> dict[str, Any]:
    requests = {"cpu": cpu, "memory": "1Gi"}
    container = {"name": "main", "image": "app", "resources": {"requests": requests}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "default", "uid": f"uid-{name}"},
        "spec": {"containers": [container], **({"nodeName": on} if on else {})},
        "status": {"phase": "Running" if on else "Pending"},
    }


@cache
def small() -> Snapshot:
    nodes = [
        node("one", "zone-a", "rack-1", 8),
        node("two", "zone-a", "rack-2", 4),
        node("three", "zone-b", "rack-3", 8),
        node(HOSTILE, HOSTILE, HOSTILE, 16, taints=True),
    ]
    pods = [
        pod("running", "2", "one"),
        pod("on-hostile", "3", HOSTILE),
        *(pod(f"waiting-{at}", "1500m") for at in range(4)),
        pod(HOSTILE, "1"),
        pod("too-large", "100"),
    ]
    return Snapshot.of([*nodes, *pods])


@cache
def large() -> Snapshot:
    """Each node has another amount in use, so that few are alike."""
    nodes = [
        node(f"node-{at:04}", f"zone-{at % 3}", f"rack-{at % 60:02}", 8 + at % 5, at % 7 == 0)
        for at in range(LARGE)
    ]
    running = [
        pod(f"running-{at}", f"{100 + 13 * (at % 500)}m", f"node-{at:04}") for at in range(LARGE)
    ]
    return Snapshot.of([*nodes, *running, pod("waiting", "1")])


def program(name: str) -> Program:
    compiled = compile_policy([shipped_source(name)], every_pod=True)
    assert compiled.program is not None
    return compiled.program


def of_explain(snapshot: Snapshot) -> str:
    document = {"explanations": explain(snapshot).explanations}
    return explain_page(document, shown_cluster(snapshot), f"policy {HOSTILE}")


def of_simulate() -> str:
    found = simulate(small())
    document = {"pods": [each.line() for each in found.pods], **found.summary.line()}
    return simulate_page(document, shown_cluster(small()))


def of_diff() -> str:
    found = diff(small(), program("kube-scheduler-default"), program("bin-packing"))
    lines = [each.line() for each in found.differences]
    return diff_page({"differences": lines, **found.line()}, shown_cluster(small()))


def of_why(key: str) -> str:
    cluster = of_snapshot(small(), program("kube-scheduler-default"), HOSTILE)
    return why_page(cluster.why(key).line(), shown_cluster(small()), HOSTILE)


def of_why_all() -> str:
    cluster = of_snapshot(small(), program("kube-scheduler-default"), HOSTILE)
    return why_all_page(cluster.sums(Scope("default")).line(), HOSTILE)


def of_every_chart() -> str:
    names = [f"{HOSTILE} {at}" for at in range(40)]
    rows = [Row(name, name) for name in names]
    cells = [
        Cell(row, column, ((row + column) % 5) / 4, str(row), HOSTILE)
        for row in range(40)
        for column in range(3)
    ]
    points = [(float(at), (at * 37 % 100) / 100) for at in range(0, 90_000, 30)]
    charts = (
        Bars("Bars", names[:4], [BarSeries(HOSTILE, [1, 2, None, 4])]),
        HeatMap("Heat map", rows, [HOSTILE, "b", "c"], cells),
        NodeMap("Node map", ("one", HOSTILE), [MapNode(n, n, n, (0.5, -1)) for n in names]),
        Moves("Moves", [Move(HOSTILE, HOSTILE, 3), Move("a", "b", 1)]),
        TimeSeries(
            "Time series",
            [Line(HOSTILE, points), Line("second", [(0, 5), (90_000, 9)], is_second=True)],
            units=("percent", "bytes"),
        ),
    )
    figures = [Figure(HOSTILE, HOSTILE)]
    sections = [Section(HOSTILE, charts), Section("Folded", charts[:1], is_folded=True)]
    return Page(HOSTILE, sections, figures, HOSTILE).html()


def read(name: str) -> Any:
    """An answer of a verb, as it was printed."""
    return json.loads((_DOCUMENTS / f"{name}.json").read_text("utf-8"))


PAGES: Final[dict[str, Callable[[], str]]] = {
    "explain": lambda: of_explain(small()),
    "why-pending": lambda: of_why("default/too-large"),
    "why-placed": lambda: of_why("default/running"),
    "why-all": of_why_all,
    "simulate": of_simulate,
    "diff": of_diff,
    "plan": lambda: plan_page(read("plan")),
    "days": lambda: days_page(read("days")),
    "sweep": lambda: sweep_page(read("sweep")),
    "every-chart": of_every_chart,
}
