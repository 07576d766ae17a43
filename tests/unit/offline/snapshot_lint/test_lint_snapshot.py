"""Lint against a snapshot: names that nothing has, rules and scores that never differ."""

from __future__ import annotations

from typing import Any

import pytest

from kpolicy.offline.snapshot_file.reader import Content, Header, Origin
from kpolicy.offline.snapshot_lint import rule_verdicts
from kpolicy.offline.snapshot_lint.lint_snapshot import lint
from kpolicy.offline.snapshots.cluster_snapshot import Recorded, Snapshot
from kpolicy.policy.yaml.source import Source
from kpolicy.testing import node, pod
from kpolicy.version import VERSION
from tests.spec.lint.cluster import objects
from tests.unit.policy.policies import policy


def findings_of(spec: str, items: list[dict[str, Any]] | None = None) -> list[tuple[str, str, str]]:
    snapshot = Snapshot.of(objects() if items is None else items)
    found = lint([Source("p.yaml", policy(spec))], snapshot).diagnostics
    return [(finding.code, finding.message, finding.hint) for finding in found]


def predicate(expression: str) -> str:
    return f'predicates: [{{name: rule, expression: "{expression}"}}]'


def test_the_nearest_name_is_reported_with_how_many_have_it() -> None:
    assert findings_of(predicate("label(node, 'zoen') == 'z1' || node.name == 'n9'"))[0] == (
        "KP312",
        "no node in the snapshot has the label `zoen`",
        "9 nodes have `zone`",
    )
    assert findings_of(predicate("label(node, 'zone') == 'zz1' || node.name == 'n9'"))[0] == (
        "KP312",
        "no node in the snapshot has `zone: zz1`",
        "3 nodes have `z1`",
    )
    assert findings_of(predicate("node.taints.exists(t, t.key == 'dedicatd')"))[0] == (
        "KP312",
        "no node in the snapshot has the taint `dedicatd`",
        "1 node has `dedicated`",
    )


@pytest.mark.parametrize(
    "expression",
    [
        "label(node, 'zone') == 'z1'",
        # A value that is not there today, and like none that is.
        "label(node, 'zone') != 'elsewhere' && label(node, 'disk') == 'ssd' || node.name == 'n1'",
        "node.free('ephemeral-storage') >= 0 && node.name == 'n1'",
        "pod.namespace == 'kube-system' && node.name == 'n1'",
        "node.domain('zone').pods.count(selector('app in (a1, a2), zone')) < node.podCount",
    ],
)
def test_an_existing_name_is_not_reported(expression: str) -> None:
    assert [row for row in findings_of(predicate(expression)) if row[0] == "KP312"] == []


@pytest.mark.parametrize(
    ("expression", "absent", "hint"),
    [
        (
            "node.metadata.labels['zoen'] == 'z1'",
            "no node in the snapshot has the label `zoen`",
            "9 nodes have `zone`",
        ),
        (
            "'zoen' in node.metadata.labels",
            "no node in the snapshot has the label `zoen`",
            "9 nodes have `zone`",
        ),
        (
            "has(node.metadata.labels.zoen)",
            "no node in the snapshot has the label `zoen`",
            "9 nodes have `zone`",
        ),
        (
            "node.metadata.?labels.?zoen.orValue('') == 'z1'",
            "no node in the snapshot has the label `zoen`",
            "9 nodes have `zone`",
        ),
        (
            "node.metadata.?labels[?'zoen'].orValue('') == 'z1'",
            "no node in the snapshot has the label `zoen`",
            "9 nodes have `zone`",
        ),
        (
            "node.metadata.labels['zone'] == 'zz1'",
            "no node in the snapshot has `zone: zz1`",
            "3 nodes have `z1`",
        ),
        (
            "node.metadata.labels.zone in ['z0', 'zz1']",
            "no node in the snapshot has `zone: zz1`",
            "3 nodes have `z1`",
        ),
        (
            "pod.metadata.labels['ap'] == 'a1'",
            "no pod in the snapshot has the label `ap`",
            "7 pods have `app`",
        ),
        (
            "pod.metadata.namespace == 'kube-sistem'",
            "the snapshot has no namespace `kube-sistem`",
            "did you mean `kube-system`?",
        ),
        (
            "'nvidia.com/gpu' in node.status.allocatable",
            "no node and no pod in the snapshot has the resource `nvidia.com/gpu`",
            "",
        ),
        (
            "node.spec.taints.exists(t, t.key == 'dedicatd')",
            "no node in the snapshot has the taint `dedicatd`",
            "1 node has `dedicated`",
        ),
    ],
)
def test_api_paths_are_looked_at_as_short_facts_are(
    expression: str, absent: str, hint: str
) -> None:
    found = findings_of(predicate(f"{expression} || node.name == 'n9'"))
    assert [finding for finding in found if finding[0] == "KP312"] == [("KP312", absent, hint)]


SLICE: dict[str, Any] = {
    "apiVersion": "resource.k8s.io/v1",
    "kind": "ResourceSlice",
    "metadata": {"name": "s"},
    "spec": {
        "driver": "gpu.example.com",
        "nodeName": "n0",
        "pool": {"name": "n0", "generation": 1, "resourceSliceCount": 1},
        "devices": [{"name": "d", "attributes": {"model": {"string": "a"}}}],
    },
}
CLASS: dict[str, Any] = {
    "apiVersion": "resource.k8s.io/v1",
    "kind": "DeviceClass",
    "metadata": {"name": "gpu"},
    "spec": {},
}


@pytest.mark.parametrize(
    ("expression", "absent", "hint"),
    [
        (
            "node.devices.free('gpu.exmple.com') >= 0",
            "no ResourceSlice in the snapshot has the driver `gpu.exmple.com`",
            "1 ResourceSlice has `gpu.example.com`",
        ),
        (
            "node.devices.countWith('gpu.example.com', 'modell', 'a') >= 0",
            "no device in the snapshot has the attribute `gpu.example.com/modell`",
            "1 device has `gpu.example.com/model`",
        ),
        (
            "node.devices.countOfClass('gpus') >= 0",
            "the snapshot has no DeviceClass `gpus`",
            "did you mean `gpu`?",
        ),
        (
            "pod.claims.exists(c, 'gpus' in c.deviceClasses)",
            "the snapshot has no DeviceClass `gpus`",
            "did you mean `gpu`?",
        ),
    ],
)
def test_drivers_classes_and_attributes_of_devices_are_looked_for_in_slices_and_classes(
    expression: str, absent: str, hint: str
) -> None:
    rule = predicate(f"{expression} || node.name == 'n9'")
    found = findings_of(rule, [*objects(), SLICE, CLASS])
    assert [finding for finding in found if finding[0] == "KP312"] == [("KP312", absent, hint)]
    right = rule.replace("exmple", "example").replace("modell", "model").replace("gpus", "gpu")
    for items in ([*objects(), SLICE, CLASS], objects()):
        assert "KP312" not in [finding[0] for finding in findings_of(right, items)]


def test_an_attribute_of_which_an_allocation_is_asked_is_looked_for_too() -> None:
    def spec(attribute: str) -> str:
        rule = f"{{name: r, weight: 1, expression: \"allocation.distinct('{attribute}') * 10\"}}"
        return f"devices: {{score: [{rule}]}}"

    items = [*objects(), SLICE, CLASS]
    found = findings_of(spec("gpu.example.com/modell"), items)
    message = "no device in the snapshot has the attribute `gpu.example.com/modell`"
    assert ("KP312", message, "1 device has `gpu.example.com/model`") in found
    found = findings_of(spec("gpu.example.com/model"), items)
    assert "KP312" not in [finding[0] for finding in found]


def test_labels_of_namespaces_by_api_path() -> None:
    namespace = {
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {"name": "default", "labels": {"tenant": "a"}},
    }
    items = [*objects(), namespace]
    rule = predicate("namespaceObject.metadata.labels['tenent'] == node.name")
    assert (
        "KP312",
        "no namespace in the snapshot has the label `tenent`",
        "1 namespace has `tenant`",
    ) in findings_of(rule, items)


@pytest.mark.parametrize("path", ["node.labels", "node.metadata.labels"])
def test_a_lookup_that_errs_is_reported_with_how_many_lack_the_label(path: str) -> None:
    snapshot = Snapshot.of(objects())
    rule = predicate(f"{path}['zone'] == 'z1'")
    found = lint([Source("p.yaml", policy(rule))], snapshot).diagnostics
    notes = [note.message for finding in found if finding.code == "KP301" for note in finding.notes]
    assert notes == ["3 of 12 nodes in the snapshot have no label `zone`"]


def recorded(kpolicy: str, cluster: str) -> list[tuple[str, str]]:
    header = Header(Origin(cluster_version=cluster), Content(0, "", {}), kpolicy)
    texts = Snapshot.of(objects()).texts
    snapshot = Snapshot(texts, (), [Recorded("prod.kpsnap", header)])
    rule = predicate("label(node, 'zone') == 'z1' || node.name == 'n9'")
    found = lint([Source("p.yaml", policy(rule))], snapshot).diagnostics
    superseded = [finding for finding in found if finding.code == "KP504"]
    assert all(
        finding.place is not None and finding.place.file == "prod.kpsnap" for finding in superseded
    )
    return [(finding.message, finding.hint) for finding in superseded]


@pytest.mark.parametrize("cluster", ["v1.34.4", "v1.36.0-gke.100", "1.37", ""])
def test_a_snapshot_of_a_release_that_is_followed_is_as_good_as_any(cluster: str) -> None:
    assert recorded(VERSION, cluster) == []


def test_a_snapshot_of_another_version_is_reported() -> None:
    (finding,) = recorded(VERSION, "v1.30.2")
    assert finding[0] == "recorded of Kubernetes v1.30.2, which kpolicy does not follow"
    assert finding[1].startswith("it follows 1.34 to 1.37; ")
    (finding,) = recorded("99.1.0", "v1.36.2")
    assert finding[0] == f"recorded with kpolicy 99.1.0; this is {VERSION}"
    assert finding[1] == "record it again, or read what may differ in the changelog"
    assert len(recorded("0.0.9", "v1.29.0")) == 2
    assert recorded(f"{VERSION.rpartition('.')[0]}.77", "v1.36.9") == []


def test_an_empty_snapshot_says_nothing() -> None:
    assert findings_of(predicate("label(node, 'zoen') == 'z1'"), []) == []


def test_a_rule_that_never_differs_is_reported() -> None:
    assert findings_of(predicate("node.podCount < 500"))[0][:2] == (
        "KP304",
        "on the snapshot this rejects no node, asked for 7 pods on 12 nodes",
    )
    assert findings_of(predicate("node.podCount > 50"))[0][:2] == (
        "KP304",
        "on the snapshot this rejects every node, asked for 7 pods on 12 nodes",
    )
    assert findings_of(predicate("node.allocatable('cpu') > 8000")) == []


def test_pods_of_a_profile_are_asked_about_and_others_where_it_has_none() -> None:
    items = [node("n1"), node("n2"), pod("a"), pod("b", scheduler_name="other", cpu="5")]
    rule = predicate("pod.request('cpu') < 1000 || node.name == 'n1'")
    assert findings_of(rule, items)[0][1].endswith("asked for 1 pod on 2 nodes")
    assert [row[0] for row in findings_of(rule, [*items[:2], items[3]])] == []


def test_pods_that_are_alike_are_asked_about_once() -> None:
    items = [node("n1"), *(pod(f"p{number}", node_name="n1") for number in range(30))]
    assert findings_of(predicate("node.podCount < 500"), items)[0][1].endswith("1 pod on 1 node")


def test_no_more_pods_than_bounded_are_asked_about(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rule_verdicts, "JUDGEMENTS_MAX", 36)
    assert findings_of(predicate("node.podCount < 500"))[0][1].endswith("3 pods on 12 nodes")


def test_a_score_that_is_the_same_on_all_nodes_is_reported() -> None:
    text = """
priorities:
  - {name: same, expression: "node.ready ? 50 : 0"}
  - {name: other, expression: "label(node, 'zone') == 'z1' ? 100 : 0"}
"""
    (found,) = findings_of(text)
    assert found[:2] == (
        "KP323",
        "on the snapshot this score is the same on all nodes, 50, asked for 7 pods on 12 nodes",
    )


def weights(ssd: int, zone: int = 50) -> str:
    return f"""
priorities:
  - {{name: ssd, weight: {ssd}, expression: "label(node, 'disk') == 'ssd' ? 2 : 0"}}
  - {{name: zone, weight: {zone}, expression: "label(node, 'zone') == 'z1' ? 100 : 0"}}
"""


def test_a_weight_that_changes_no_decision_is_reported_with_the_least_that_would() -> None:
    (found,) = findings_of(weights(1))
    code, message, hint = found
    assert code == "KP328"
    assert message == (
        "on the snapshot the weight 1 changes no decision: 7 pods had the same best nodes without "
        "`ssd`"
    )
    assert hint == "from `weight: 2500` on it would"
    assert [row[0] for row in findings_of(weights(2499))] == ["KP328"]
    assert "KP328" not in [row[0] for row in findings_of(weights(2500))]
    # Alone, it decides.
    assert [row for row in findings_of(weights(1, 0)) if row[0] == "KP328"] == []


def test_errors_of_other_rules_do_not_hide_it() -> None:
    text = """
predicates:
  - {name: broken, expression: node.}
  - {name: never, expression: node.podCount > 50}
"""
    assert [row[0] for row in findings_of(text)] == ["KP110", "KP304"]


def test_a_comment_for_a_snapshot_is_unused_only_where_there_is_one() -> None:
    text = policy(predicate("node.allocatable('cpu') > 8000") + "  # kpolicy: ignore[KP304]")
    source = Source("p.yaml", text)
    assert lint([source]).diagnostics == ()
    (unused,) = lint([source], Snapshot.of(objects())).diagnostics
    assert unused.code == "KP190"
    needed = Source("p.yaml", text.replace("8000", "800000"))
    assert lint([needed], Snapshot.of(objects())).diagnostics == ()
