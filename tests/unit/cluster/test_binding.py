"""What is sent for a bind, and how the API server's conflicts are read."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kpolicy.cluster.binding import (
    AlreadyOurs,
    Binding,
    BindOutcome,
    Conflict,
    Gone,
    PodUnreadable,
    TakenByOther,
    binding_body,
    conflict_outcome,
    pod_path,
    seen_on,
)

BINDING = Binding("ns", "a", "uid-1", "n1")


@given(st.text(), st.text(), st.dictionaries(st.text(), st.text(), max_size=3))
def test_the_body_is_what_json_would_make_of_it(
    name: str, node: str, annotations: dict[str, str]
) -> None:
    metadata: dict[str, object] = {"name": name, "namespace": "ns", "uid": "u"}
    if annotations:
        metadata["annotations"] = annotations
    body = binding_body(Binding("ns", name, "u", node, annotations))
    assert json.loads(body) == {
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": metadata,
        "target": {"apiVersion": "v1", "kind": "Node", "name": node},
    }


@pytest.mark.parametrize(
    ("message", "outcome"),
    [
        (
            'Operation cannot be fulfilled: pod a is already assigned to node "n1"',
            AlreadyOurs(),
        ),
        ('pod a is already assigned to node "n2"', TakenByOther("n2")),
        ('pod a is already assigned to node "n11"', TakenByOther("n11")),
        ("pod a is being deleted, cannot be assigned to a host", Gone()),
        ("Precondition failed: UID in precondition: x, UID in object meta: y", Gone()),
        ("pod a has non-empty .spec.schedulingGates", Conflict),
        ("Precondition failed: ResourceVersion in precondition: 1, in object meta: 2", Conflict),
        ("the object has been modified", Conflict),
    ],
)
def test_a_conflict_is_read_by_its_words(
    message: str, outcome: BindOutcome | type[Conflict]
) -> None:
    expected = Conflict(message) if outcome is Conflict else outcome
    assert conflict_outcome(BINDING, message) == expected


@pytest.mark.parametrize(
    ("uid", "node", "deleting", "outcome"),
    [
        ("uid-1", "n1", False, AlreadyOurs()),
        ("uid-1", "n1", True, AlreadyOurs()),
        ("uid-1", "n2", False, TakenByOther("n2")),
        ("uid-1", "", False, None),
        ("uid-1", "", True, Gone()),
        ("uid-2", "n1", False, Gone()),
    ],
)
def test_a_pod_tells_what_became_of_its_bind(
    uid: str, node: str, deleting: bool, outcome: BindOutcome | None
) -> None:
    metadata: dict[str, str] = {"uid": uid} | ({"deletionTimestamp": "now"} if deleting else {})
    pod = {"metadata": metadata, "spec": {"nodeName": node}}
    assert seen_on(BINDING, json.dumps(pod).encode()) == outcome


@pytest.mark.parametrize("body", [b"<html>", b"\xff", b"[]", b"null", b"{}", b"[" * 100_000])
def test_what_is_no_pod_tells_nothing(body: bytes) -> None:
    assert seen_on(BINDING, body) == PodUnreadable()


def test_what_is_no_name_stays_one_segment_of_the_path() -> None:
    assert pod_path("ns", "a.b-1") == "/api/v1/namespaces/ns/pods/a.b-1"
    assert pod_path("../x", "a/b?c") == "/api/v1/namespaces/..%2Fx/pods/a%2Fb%3Fc"
