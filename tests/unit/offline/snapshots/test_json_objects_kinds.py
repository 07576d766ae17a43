"""The kinds that are read are those that the engine takes."""

from __future__ import annotations

import json
from collections.abc import Mapping

from kpolicy.engine import Engine
from kpolicy.offline.snapshots.json_objects import CLUSTER_SCOPED, READ, is_read, key_of, uid_of


def held(engine: Engine) -> int:
    sizes = json.loads(engine.statistics())
    return int(sizes["nodes"] + sizes["pods"] + sizes["objects"])


def engine_reads(item: Mapping[str, object]) -> bool:
    engine = Engine()
    codes = [problem.code for problem in engine.load_objects(json.dumps(item).encode(), "")]
    assert codes in ([], ["OtherKind"])
    assert held(engine) == (0 if codes else 1)
    return not codes


def test_the_engine_reads_exactly_the_kinds_in_the_table() -> None:
    looked_at = 0
    kinds = [*sorted(set().union(*READ.values())), "ConfigMap", "Secret", "Deployment", "Event"]
    for group in (*READ, "example.com", "serving.knative.dev"):
        for kind in kinds:
            version = f"{group}/v1" if group else "v1"
            item = {"apiVersion": version, "kind": kind, "metadata": {"name": "x"}}
            assert engine_reads(item) is is_read(item), item
            looked_at += 1
    for kind in kinds:
        item = {"kind": kind, "metadata": {"name": "x"}}
        assert engine_reads(item) is is_read(item), item
        looked_at += 1
    assert looked_at == (len(READ) + 3) * len(kinds) >= 8 * 19


def test_keys_and_uids_are_the_engines() -> None:
    pod = {"kind": "Pod", "metadata": {"name": "x"}}
    assert (key_of(pod), uid_of(pod)) == ("default/x", "default/x")
    engine = Engine()
    engine.load_objects(json.dumps(pod).encode(), "")
    assert [pod.uid for pod in engine.pending()] == [uid_of(pod)]
    node = {"kind": "Node", "metadata": {"name": "n", "uid": "u"}}
    assert (key_of(node), uid_of(node)) == ("n", "u")
    assert {"Node", "Namespace", "StorageClass"} <= CLUSTER_SCOPED
    assert (key_of({"kind": "Pod", "metadata": 7}), is_read({"kind": ["Pod"]})) == (
        "default/",
        False,
    )
