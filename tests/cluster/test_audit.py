"""Reading an audit log that is being written."""

from __future__ import annotations

import json
from pathlib import Path

from tests.cluster.audit import AuditLog, binds


def line(pod: str, *, code: int = 201, query: str = "") -> str:
    return json.dumps(
        {
            "auditID": f"id-{pod}",
            "stage": "ResponseComplete",
            "verb": "create",
            "user": {"username": "kpolicy"},
            "requestURI": f"/api/v1/namespaces/ns/pods/{pod}/binding{query}",
            "objectRef": {
                "resource": "pods",
                "subresource": "binding",
                "namespace": "ns",
                "name": pod,
            },
            "responseStatus": {"code": code},
            "requestObject": {"metadata": {"uid": "u"}, "target": {"name": "n1"}},
            "requestReceivedTimestamp": "2026-11-21T13:37:00.161509Z",
            "stageTimestamp": "2026-11-21T13:37:00.164718Z",
        }
    )


def test_a_line_counts_once_and_when_it_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "audit.log"
    log = AuditLog(path)
    assert log.events() == ()
    second = line("b", code=409)
    path.write_text(f"{line('a')}\n{second[:50]}")
    assert [event.name for event in log.events()] == ["a"]
    with path.open("a") as more:
        more.write(f"{second[50:]}\n")
    assert [event.name for event in log.events()] == ["a", "b"]
    assert [(bind.pod, bind.node, bind.succeeded) for bind in binds(log.events())] == [
        ("a", "n1", True),
        ("b", "n1", False),
    ]
    assert len(binds(log.events(), "ns")) == 2
    assert binds(log.events(), "other") == ()
    event = log.events()[0]
    assert (event.what, event.writes) == ("pods/binding", True)
    assert event.answered_at > event.received_at


def test_a_dry_run_writes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "audit.log"
    path.write_text(f"{line('a', query='?dryRun=All')}\n")
    (event,) = AuditLog(path).events()
    assert (event.verb, event.is_dry_run, event.writes) == ("create", True, False)
    assert binds([event]) == ()
