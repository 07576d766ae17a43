"""The fields of pods that extenders get."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kpolicy.scheduler.extenders.pod_fields import PodFields, pod_fields

LAST = "kubectl.kubernetes.io/last-applied-configuration"


def pod() -> dict[str, Any]:
    container = {
        "name": "c",
        "image": "i",
        "env": [{"name": "PASSWORD", "value": "secret"}],
        "envFrom": [{"secretRef": {"name": "s"}}],
        "args": ["--password=secret"],
        "command": ["run", "secret"],
        "resources": {"requests": {"cpu": "1"}},
    }
    return {
        "kind": "Pod",
        "metadata": {"name": "p", "uid": "u", "annotations": {"a": "b", LAST: "secret"}},
        "spec": {
            "containers": [dict(container), None],
            "initContainers": [dict(container)],
            "ephemeralContainers": None,
        },
    }


def sent(*fields: str) -> str:
    return PodFields(pod_fields(fields)).pod(pod()).decode()


def test_the_protocol_sends_all_of_them() -> None:
    whole = pod()
    del whole["kind"]
    assert json.loads(sent("all")) == whole


def test_none_of_them_leaves_no_secret() -> None:
    text = sent("none")
    assert "secret" not in text
    read = json.loads(text)
    kept = {"name": "c", "image": "i", "resources": {"requests": {"cpu": "1"}}}
    assert read["spec"]["initContainers"] == [kept]
    assert read["metadata"] == {"name": "p", "uid": "u"}


def test_some_of_them() -> None:
    read = json.loads(sent("annotations", "args"))
    (container,) = read["spec"]["initContainers"]
    assert "env" not in container
    assert "envFrom" not in container
    assert container["command"] == ["run", "secret"]
    assert read["metadata"]["annotations"] == {"a": "b"}, "kubectl repeats the environment there"
    read = json.loads(sent("env", "args"))
    assert "annotations" not in read["metadata"]
    assert "env" in read["spec"]["initContainers"][0]


@pytest.mark.parametrize("listed", [("labels",), ("all", "env"), ("none", "env")])
def test_what_is_no_list_of_fields(listed: tuple[str, ...]) -> None:
    with pytest.raises(ValueError, match="is not one of env, args, annotations"):
        pod_fields(listed)
