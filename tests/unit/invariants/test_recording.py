"""The recording of a run on the real API server is what happened there."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.cluster.control_plane import ControlPlane
from tests.cluster.users import ADMIN
from tests.invariants.check import violations
from tests.invariants.history import BINDING, DELETED, LEASE
from tests.invariants.recording import Recording

pytestmark = pytest.mark.cluster


def test_a_run_is_recorded_whole(control_plane: ControlPlane, namespace: str) -> None:
    admin = control_plane.admin
    with Recording(control_plane, users=(ADMIN,), profiles=("kpolicy",)) as recording:
        admin.create_node("recorded-node")
        pod = admin.create_pod("one", namespace=namespace, scheduler_name="kpolicy")
        uid = pod["metadata"]["uid"]
        assert admin.bind("one", "recorded-node", namespace=namespace, uid=uid).status == 201
        assert admin.bind("one", "elsewhere", namespace=namespace, uid=uid).status == 409
        admin.delete_pod("one", namespace=namespace)
        admin.delete("/api/v1/nodes/recorded-node")
        history = recording.history()
        again = recording.history()
    assert recording.gaps == 0
    changes = [
        (change.type, change.object["spec"].get("nodeName", ""))
        for change in history.changes
        if change.uid == uid
    ]
    assert changes[0] == ("ADDED", "")
    assert changes[1] == ("MODIFIED", "recorded-node")
    assert changes[-1][0] == DELETED
    binds = [(bind.code, bind.in_request("target", "name")) for bind in history.binds()]
    assert binds == [(201, "recorded-node"), (409, "elsewhere")]
    assert {write.what for write in history.ours()} >= {BINDING, "pods", "nodes"}
    assert list(again.changes[: len(history.changes)]) == list(history.changes)
    # An administrator does what a scheduler may not. Whether the second bind was for a pod known to
    # be on a node (I10, I3) depends on when the watch told of the first.
    # Other tests of this control plane may have written leases as the administrator before.
    without_leases = tuple(write for write in history.writes if write.what != LEASE)
    judged = violations(replace(history, writes=without_leases))
    found = {violation.invariant for violation in judged}
    assert "I12" in found
    assert found <= {"I12", "I10", "I3"}
