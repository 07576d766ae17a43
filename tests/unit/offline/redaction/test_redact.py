"""Redaction: nothing of what was named is left, and everything still fits together."""

from __future__ import annotations

import json
from typing import Any

import pytest

import kpolicy
from kpolicy import Snapshot
from kpolicy.offline.redaction.field_rules import STANDS_FOR, Words
from kpolicy.offline.redaction.object_rules import KINDS
from kpolicy.offline.snapshots.json_objects import READ
from kpolicy.testing import node, pod

KEY = b"a key of thirty-two bytes, or so"
Object = dict[str, Any]


def redacted(*items: Object, **kept: Any) -> list[Object]:
    return list(kpolicy.redact(Snapshot.of(items), KEY, **kept))


def named(kind: str, version: str = "v1", **fields: Any) -> Object:
    return {"apiVersion": version, "kind": kind, "metadata": {"name": "secretname"}} | fields


class TestWords:
    def test_the_same_word_is_the_same_and_another_key_another(self) -> None:
        words, other = Words(KEY), Words(KEY[::-1])
        assert words.name("web") == words.name("web") == Words(KEY).name("web")
        assert words.name("web") != other.name("web")
        assert STANDS_FOR.fullmatch(words.name("web"))
        assert words.name("") == ""

    def test_namespaces_of_every_cluster_and_those_asked_for_stay(self) -> None:
        words = Words(KEY, keep_namespaces=["prod"])
        assert [words.name(each) for each in ("default", "kube-system", "prod")] == [
            "default",
            "kube-system",
            "prod",
        ]

    def test_values_of_well_known_labels_and_of_those_asked_for_stay(self) -> None:
        words = Words(KEY, keep_labels=["disk"])
        assert words.label("topology.kubernetes.io/zone", "eu-1a") == "eu-1a"
        assert words.label("disk", "ssd") == "ssd"
        assert words.label("team", "ssd") == words.name("ssd")

    def test_numbers_stay_where_they_are_compared(self) -> None:
        words = Words(KEY, compared=["cores"])
        assert words.label("cores", "32") == "32"
        assert words.label("cores", "many") == words.name("many")
        assert words.label("account", "32") == words.name("32")
        assert words.asked("cores", "-5") == "-5"  # no label value, and a bound all the same

    def test_what_is_no_label_value_is_none_afterwards(self) -> None:
        words = Words(KEY)
        assert words.asked("team", "not a value!").startswith("-")
        assert words.asked("team", "a" * 64).startswith("-")
        assert words.asked("team", "fine") == words.label("team", "fine")

    def test_images_are_the_same_with_and_without_latest(self) -> None:
        words = Words(KEY)
        assert words.image("shop/web") == words.image("shop/web:latest")
        assert words.image("host:5000/web") == words.image("host:5000/web:latest")
        assert words.image("shop/web") != words.image("shop/web:2")
        assert ":" in words.image("shop/web")

    def test_disks_keep_the_forms_by_which_they_are_known(self) -> None:
        words = Words(KEY)
        plain = words.volume("vol-1")
        assert plain.startswith("vol-")
        assert words.volume("aws://eu-1a/vol-1").endswith(f"/{plain}")
        assert words.volume("aws://bad").startswith("aws://x")
        gce = words.volume("projects/UNSPECIFIED/zones/eu-1a/disks/d")
        assert gce == f"projects/UNSPECIFIED/zones/eu-1a/disks/{words.name('d')}"


def test_every_kind_that_is_read_has_rules() -> None:
    kinds = frozenset[str]().union(*READ.values())
    assert set(KINDS) == kinds
    assert len(kinds) == 20


def test_a_short_key_is_refused() -> None:
    with pytest.raises(ValueError, match="16 bytes"):
        kpolicy.redact(Snapshot.of([]), b"short")


def test_nothing_that_names_is_left_of_a_pod() -> None:
    # Every text that begins with "secret" must be gone; those with "kept" must be there.
    item = pod("secret-pod", namespace="secret-ns", labels={"kept-key": "secret-value"})
    item["metadata"] |= {
        "uid": "secret-uid",
        "annotations": {"secret-annotation": "secret-text"},
        "generateName": "secret-pod-",
        "ownerReferences": [
            {
                "apiVersion": "secret.corp/v1",
                "kind": "SecretKind",
                "name": "secret-owner",
                "uid": "secret-owner-uid",
                "controller": True,
            },
        ],
    }
    selector = {
        "matchLabels": {"kept-key": "secret-value"},
        "matchExpressions": [{"key": "kept-key", "operator": "In", "values": ["secret-value"]}],
    }
    term = {
        "labelSelector": selector,
        "namespaceSelector": selector,
        "namespaces": ["secret-ns"],
        "topologyKey": "kept-topology",
    }
    during = "DuringSchedulingIgnoredDuringExecution"
    item["spec"] |= {
        "nodeName": "secret-node",
        "hostname": "secret-host",
        "imagePullSecrets": [{"name": "secret-pull"}],
        "serviceAccountName": "secret-account",
        "priorityClassName": "secret-class",
        "schedulerName": "kept-scheduler",
        "schedulingGates": [{"name": "secret-gate"}],
        "nodeSelector": {"kept-key": "secret-value"},
        "tolerations": [{"key": "kept-taint", "operator": "Equal", "value": "secret-value"}],
        "affinity": {
            "podAntiAffinity": {f"required{during}": [term]},
            "nodeAffinity": {
                f"required{during}": {
                    "nodeSelectorTerms": [
                        {
                            "matchExpressions": selector["matchExpressions"],
                            "matchFields": [
                                {
                                    "key": "metadata.name",
                                    "operator": "In",
                                    "values": ["secret-node"],
                                }
                            ],
                        },
                    ]
                }
            },
        },
        "topologySpreadConstraints": [
            {
                "maxSkew": 3,
                "topologyKey": "kept-topology",
                "whenUnsatisfiable": "ScheduleAnyway",
                "labelSelector": selector,
            }
        ],
        "volumes": [
            {"name": "secret-volume", "persistentVolumeClaim": {"claimName": "secret-claim"}},
            {"name": "secret-config", "configMap": {"name": "secret-map"}},
            {
                "name": "secret-csi",
                "csi": {"driver": "kept.driver", "volumeAttributes": {"a": "secret-attribute"}},
            },
        ],
    }
    item["spec"]["containers"] = [
        {
            "name": "secret-container",
            "image": "secret.registry/secret:1",
            "args": ["secret-arg"],
            "env": [{"name": "SECRET", "value": "secret-env"}],
            "resources": {"requests": {"cpu": "1500m", "kept.com/gpu": "1"}},
            "ports": [{"hostPort": 8080, "hostIP": "10.1.2.3", "name": "secret-port"}],
        },
    ]
    item["status"] = {
        "nominatedNodeName": "secret-node",
        "podIP": "10.1.2.4",
        "hostIP": "10.1.2.5",
        "message": "secret-message",
        "phase": "Running",
        "conditions": [
            {"type": "SecretCondition", "status": "True", "message": "secret-words"},
            {
                "type": "PodResizePending",
                "status": "True",
                "reason": "Infeasible",
                "message": "secret-words",
            },
        ],
    }
    [made] = redacted(item)
    text = json.dumps(made)
    assert "secret" not in text.lower()
    assert "10.1.2" not in text
    for word in (
        "kept-key",
        "kept-taint",
        "kept-topology",
        "kept-scheduler",
        "kept.driver",
        "kept.com/gpu",
        "1500m",
        "8080",
        "Infeasible",
    ):
        assert word in text, word
    name = Words(KEY).name
    assert made["spec"]["nodeName"] == made["status"]["nominatedNodeName"] == name("secret-node")
    [required] = made["spec"]["affinity"]["nodeAffinity"][f"required{during}"]["nodeSelectorTerms"]
    assert required["matchFields"][0]["values"] == [name("secret-node")]
    assert made["metadata"]["labels"]["kept-key"] == name("secret-value")
    assert made["spec"]["volumes"][1] == {"name": name("secret-config")}


def test_a_node_is_named_alike_wherever_it_stands() -> None:
    labels = {"kubernetes.io/hostname": "secretnode", "topology.kubernetes.io/zone": "eu-1a"}
    there = node("secretnode", labels=labels)
    attachment = named(
        "VolumeAttachment",
        "storage.k8s.io/v1",
        spec={"attacher": "d", "nodeName": "secretnode", "source": {}},
    )
    csi = named("CSINode", "storage.k8s.io/v1") | {"metadata": {"name": "secretnode"}}
    claim = named("PersistentVolumeClaim") | {
        "metadata": {
            "name": "c",
            "annotations": {
                "volume.kubernetes.io/selected-node": "secretnode",
                "other": "secretnode",
            },
        },
    }
    made = redacted(there, attachment, csi, claim)
    name = Words(KEY).name("secretnode")
    assert "secretnode" not in json.dumps(made)
    assert made[0]["metadata"]["name"] == made[0]["metadata"]["labels"]["kubernetes.io/hostname"]
    assert made[0]["metadata"]["labels"]["topology.kubernetes.io/zone"] == "eu-1a"
    assert made[1]["spec"]["nodeName"] == made[2]["metadata"]["name"] == name
    assert made[3]["metadata"]["annotations"] == {"volume.kubernetes.io/selected-node": name}


def test_the_claim_of_an_ephemeral_volume_is_named_after_both() -> None:
    owner = pod("web-0", namespace="shop")
    owner["spec"]["volumes"] = [{"name": "data", "ephemeral": {"volumeClaimTemplate": {}}}]
    claim = named("PersistentVolumeClaim")
    claim["metadata"] = {"name": "web-0-data", "namespace": "shop"}
    elsewhere = named("PersistentVolumeClaim")
    elsewhere["metadata"] = {"name": "web-0-data", "namespace": "other"}
    volume = named(
        "PersistentVolume", spec={"claimRef": {"namespace": "shop", "name": "web-0-data"}}
    )
    _, made, other, bound = redacted(owner, claim, elsewhere, volume)
    name = Words(KEY).name
    assert made["metadata"]["name"] == f"{name('web-0')}-{name('data')}"
    assert bound["spec"]["claimRef"]["name"] == made["metadata"]["name"]
    assert other["metadata"]["name"] == name("web-0-data")


def test_what_no_rule_reads_is_left_out() -> None:
    assert redacted(named("Secret"), named("ConfigMap"), {"kind": "Pod", "metadata": {}}) == []


@pytest.mark.parametrize("odd", [None, 7, "text", [], [7], {"a": []}, True])
def test_odd_forms_never_raise_and_never_tell(odd: Any) -> None:
    looked_at = 0
    for kind in KINDS:
        for part in ("spec", "status", "metadata", "provisioner", "nodeTopology"):
            item = named(kind, "") | {part: odd}
            made = list(kpolicy.redact(Snapshot.of([item]), KEY))
            assert len(made) == (part != "metadata")
            looked_at += 1
        for field in ("containers", "affinity", "volumes", "taints", "selector", "nodeAffinity"):
            made = redacted(named(kind, "", spec={field: odd}))
            assert len(made) == 1
            looked_at += 1
    assert looked_at == 20 * 11
