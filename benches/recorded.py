"""Generates a cluster in the form of `kubectl get … -o json`: indented, with sorted keys and
complete objects.

It adds to the objects of `kpolicy.offline.bench` what running pods and nodes have: owners, probes,
mounts, conditions, container statuses. Rules read little of it, but a reader has to skip it. The
text is put together from prepared pieces, so that 150,000 pods take seconds.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from typing import Any, Final

from kpolicy.offline.bench import generated_cluster
from kpolicy.offline.bench.workloads import WORKLOADS

WORKLOAD: Final = "mixed"
_INDENT: Final = 4
_SINCE: Final = "2026-01-01T00:00:10Z"

Json = dict[str, Any]


def nodes(size: generated_cluster.Size) -> Iterator[str]:
    template = _node()
    for index in range(size.nodes):
        yield template % generated_cluster.node_words(index)


def pods(size: generated_cluster.Size) -> Iterator[str]:
    """The pods on nodes, of 50 apps in turn."""
    requests = WORKLOADS[WORKLOAD].existing_requests
    for index in range(size.existing):
        milli, mebi = requests(index)
        words = {"index": index, "milli": milli, "mebi": mebi, "node": index % size.nodes}
        yield _pod(generated_cluster.app_of(index)) % words


def kubectl_list(size: generated_cluster.Size) -> Iterator[str]:
    """One `List` of all objects, piece by piece."""
    yield '{\n    "apiVersion": "v1",\n    "items": [\n'
    separator = ""
    for items in (nodes(size), pods(size)):
        for item in items:
            yield separator + item
            separator = ",\n"
    yield '\n    ],\n    "kind": "List",\n    "metadata": {\n'
    yield '        "resourceVersion": ""\n    }\n}\n'


def page(kind: str, items: list[str]) -> bytes:
    """A page of a list, as in an API server's answer."""
    head = '{"kind":"%sList","apiVersion":"v1","metadata":{"resourceVersion":"1"},"items":['
    return (head % kind + ",".join(items) + "]}").encode()


def _text(item: Json) -> str:
    """Gaps are inside strings; a template of `kpolicy.offline.bench` has doubled its percents."""
    text = json.dumps(item, indent=_INDENT, sort_keys=True)
    return "\n".join(" " * 2 * _INDENT + line for line in text.splitlines())


@cache
def _node() -> str:
    node = json.loads(generated_cluster.node())
    beat = {"lastHeartbeatTime": _SINCE, "lastTransitionTime": _SINCE}
    node["status"] |= {
        "addresses": [{"address": "10.0.0.1", "type": "InternalIP"}],
        "conditions": [
            {
                "type": kind,
                "status": "True" if kind == "Ready" else "False",
                **beat,
                "reason": f"Kubelet{kind}",
                "message": "as it should be",
            }
            for kind in ("MemoryPressure", "DiskPressure", "PIDPressure", "Ready")
        ],
        "images": [
            {
                "names": [
                    f"registry.example.com/image-{number}@sha256:{number:064d}",
                    f"registry.example.com/image-{number}:1",
                ],
                "sizeBytes": 50_000_000 + number,
            }
            for number in range(50)
        ],
    }
    return _text(node)


@cache
def _pod(app: str) -> str:
    pod = json.loads(generated_cluster.existing_pod(app))
    owner = {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "name": f"{app}-5d4f8c7b9f",
        "uid": f"{app}-owner",
        "controller": True,
        "blockOwnerDeletion": True,
    }
    pod["metadata"] |= {
        "annotations": {"prometheus.io/scrape": "true", "prometheus.io/port": "8080"},
        "generateName": f"{app}-5d4f8c7b9f-",
        "ownerReferences": [owner],
        "resourceVersion": "123456789",
    }
    pod["metadata"]["labels"] |= {
        "app.kubernetes.io/managed-by": "Helm",
        "pod-template-hash": "5d4f8c7b9f",
    }
    [container] = pod["spec"]["containers"]
    probe = {
        "httpGet": {"path": "/healthz", "port": 8080, "scheme": "HTTP"},
        "periodSeconds": 10,
        "failureThreshold": 3,
        "successThreshold": 1,
        "timeoutSeconds": 1,
    }
    container |= {
        "env": [{"name": f"SETTING_{number}", "value": f"value-{number}"} for number in range(8)],
        "livenessProbe": probe,
        "readinessProbe": probe,
        "ports": [{"containerPort": 8080, "name": "http", "protocol": "TCP"}],
        "terminationMessagePath": "/dev/termination-log",
        "volumeMounts": [
            {
                "mountPath": "/var/run/secrets/kubernetes.io/serviceaccount",
                "name": "token",
                "readOnly": True,
            }
        ],
    }
    pod["spec"] |= {
        "dnsPolicy": "ClusterFirst",
        "enableServiceLinks": True,
        "preemptionPolicy": "PreemptLowerPriority",
        "terminationGracePeriodSeconds": 30,
    }
    pod["status"] |= {
        "conditions": [
            {"type": kind, "status": "True", "lastProbeTime": None, "lastTransitionTime": _SINCE}
            for kind in (
                "PodReadyToStartContainers",
                "Initialized",
                "Ready",
                "ContainersReady",
                "PodScheduled",
            )
        ],
        "containerStatuses": [
            {
                "containerID": f"containerd://{0:064d}",
                "image": container["image"],
                "imageID": f"registry.example.com/app@sha256:{0:064d}",
                "lastState": {},
                "name": "app",
                "ready": True,
                "restartCount": 0,
                "started": True,
                "state": {"running": {"startedAt": _SINCE}},
            }
        ],
        "hostIP": "10.0.0.1",
        "podIP": "10.1.0.1",
        "podIPs": [{"ip": "10.1.0.1"}],
        "qosClass": "Burstable",
        "startTime": _SINCE,
    }
    return _text(pod)
