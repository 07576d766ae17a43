"""Alerts and the dashboard ask only for metrics and labels that the page of metrics has."""

from __future__ import annotations

import json
import re
import subprocess
from os.path import relpath
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from kpolicy.cluster.writes import binder as binding
from tests.cluster.build import ControlPlaneBinary
from tests.docs.metrics import on_page
from tests.tree.sources import ROOT

COMPONENT: Final = ROOT / "deploy/kustomize/components/alerts"
RUNBOOK: Final = ROOT / "docs/guides/runbook.md"
# What whoever scrapes adds to each series, and `up` beside them.
OF_THE_SCRAPER: Final = {"job", "pod"}
_NAME: Final = re.compile(r"\b(?:kpolicy|scheduler|leader_election|process|rest_client)_[a-z_]+\b")
_SELECTED: Final = re.compile(r"([a-z_]+)(\{[^}]*\})")
_BY: Final = re.compile(r"by \(([^)]*)\)")
_ROW: Final = re.compile(r"^\| `([a-z_]+)` \| (\w+) \| ([^|]*) \|", re.MULTILINE)


def metrics() -> dict[str, tuple[str, set[str]]]:
    """Type and labels, of every series that can be asked for."""
    found: dict[str, tuple[str, set[str]]] = {}
    for name, kind, labels in _ROW.findall(on_page()):
        names = set(re.findall(r"`(\w+)`", labels)) | OF_THE_SCRAPER
        if kind == "histogram":
            found[f"{name}_bucket"] = kind, names | {"le"}
            found[f"{name}_sum"] = found[f"{name}_count"] = kind, names
        else:
            found[name] = kind, names
    return found


def rules() -> list[dict[str, Any]]:
    document = yaml.safe_load((COMPONENT / "prometheus-rule.yaml").read_text("utf-8"))
    return [rule for group in document["spec"]["groups"] for rule in group["rules"]]


def targets() -> list[dict[str, Any]]:
    document = json.loads((COMPONENT / "kpolicy.json").read_text("utf-8"))
    return [target for panel in document["panels"] for target in panel["targets"]]


def faults(expression: str, known: dict[str, tuple[str, set[str]]]) -> list[str]:
    wrong = []
    labels: set[str] = set()
    for name in re.findall(_NAME, re.sub(r"\{[^}]*\}|\([^()]*\) \(", " ", expression)):
        if name not in known:
            wrong.append(f"{name} is no metric")
            continue
        kind, labels_of = known[name]
        labels |= labels_of
        counts = kind in {"counter", "histogram"}
        if counts != bool(re.search(rf"(rate|increase)\({name}\b", expression)):
            wrong.append(f"{name} is a {kind}")
    for name, selector in _SELECTED.findall(expression):
        asked = set(re.findall(r"(\w+)(?==|!~|=~|!=)", selector))
        missing = asked - (known[name][1] if name in known else OF_THE_SCRAPER)
        wrong += [f"{name} has no {label}" for label in missing]
    for named in _BY.findall(expression):
        wrong += [f"no label {name}" for name in named.split(", ") if name not in labels]
    return wrong


def test_every_metric_and_label_that_is_asked_for_is_there() -> None:
    known, asked = metrics(), 0
    for row in (*rules(), *targets()):
        assert faults(row["expr"], known) == [], row["expr"]
        asked += 1
    assert asked == 11 + 20
    legends = [
        (target["expr"], set(re.findall(r"\{\{(\w+)\}\}", target["legendFormat"])))
        for target in targets()
    ]
    for expression, shown in legends:
        kept = {label for named in _BY.findall(expression) for label in named.split(", ")}
        assert shown <= (kept or OF_THE_SCRAPER), expression


def test_a_slip_would_be_found() -> None:
    known = metrics()
    for wrong in (
        'sum(rate(kpolicy_rule_error_total{job="kpolicy"}[5m]))',
        'kpolicy_rule_errors_total{job="kpolicy"} > 0',
        'rate(scheduler_pending_pods{job="kpolicy"}[5m])',
        'sum by (plugin) (rate(kpolicy_rule_errors_total{job="kpolicy"}[5m]))',
        'sum(rate(kpolicy_binds_total{result="Bound"}[5m]))',
        'histogram_quantile(0.9, rate(kpolicy_loop_lag_seconds{job="kpolicy"}[5m]))',
    ):
        assert faults(wrong, known) != [], wrong


def test_alerts_say_what_to_do_and_panels_do_not_overlap() -> None:
    names = [rule["alert"] for rule in rules()]
    assert len(set(names)) == len(names) == 11
    for rule in rules():
        assert rule["labels"]["severity"] in {"critical", "warning", "info"}
        assert rule["annotations"].keys() == {"summary", "description", "runbook_url"}
    panels = json.loads((COMPONENT / "kpolicy.json").read_text("utf-8"))["panels"]
    places = {(panel["gridPos"]["x"], panel["gridPos"]["y"]) for panel in panels}
    assert len(places) == len(panels) == 18


def test_each_alert_leads_to_its_section_of_the_runbook() -> None:
    sections = re.findall(r"^## (\w+)$", RUNBOOK.read_text("utf-8"), re.MULTILINE)
    assert sections == [rule["alert"] for rule in rules()]
    chart = yaml.safe_load((ROOT / "deploy/chart/Chart.yaml").read_text("utf-8"))
    page = f"{chart['home']}/blob/main/{RUNBOOK.relative_to(ROOT)}"
    for rule in rules():
        assert rule["annotations"]["runbook_url"] == f"{page}#{rule['alert'].lower()}"


def test_metrics_of_the_runbook_are_there() -> None:
    named = set(re.findall(_NAME, RUNBOOK.read_text("utf-8")))
    assert len(named) >= 10
    assert named - {name.removesuffix("_bucket") for name in metrics()} == set()


def test_the_memory_alert_is_at_80_percent_of_the_deployments_limit() -> None:
    deployment = yaml.safe_load((ROOT / "deploy/kustomize/base/deployment.yaml").read_text("utf-8"))
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    assert container["resources"]["limits"]["memory"] == "1Gi"
    (rule,) = [rule for rule in rules() if rule["alert"] == "KpolicyMemoryHigh"]
    assert int(rule["expr"].rpartition("> ")[2]) == int(0.8 * 2**30)


def test_outcomes_of_binds_are_those_that_are_counted() -> None:
    (rule,) = [rule for rule in rules() if rule["alert"] == "KpolicyBindsFail"]
    for outcome in re.findall(r"\w+", rule["expr"].partition('!~"')[2].partition('"')[0]):
        assert isinstance(getattr(binding, outcome), type)


@pytest.mark.cluster
def test_kustomize_takes_the_component(
    control_plane_binary: ControlPlaneBinary, tmp_path: Path
) -> None:
    overlay = ROOT / "deploy/kustomize/overlays/monitored"
    document = yaml.safe_load((overlay / "kustomization.yaml").read_text("utf-8"))
    (tmp_path / "kustomization.yaml").write_text(
        yaml.safe_dump(
            {
                **{key: document[key] for key in ("apiVersion", "kind")},
                "resources": [relpath(overlay, tmp_path)],
                "components": [relpath(COMPONENT, tmp_path)],
            }
        )
    )
    done = subprocess.run(
        [control_plane_binary.path, "kubectl", "kustomize", str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    kinds = [document["kind"] for document in yaml.safe_load_all(done.stdout)]
    assert kinds.count("PrometheusRule") == 1
