"""The writes of two schedulers, counted from an audit log."""

from __future__ import annotations

from collections import Counter

from benches.cluster.requests import Kind, Requests, counted
from tests.cluster.audit import parse_event

EVENTS = "events.events.k8s.io"


def line(
    user: str, verb: str, code: int, resource: str, subresource: str = ""
) -> dict[str, object]:
    group = "events.k8s.io" if resource == "events" else ""
    return {
        "auditID": "1",
        "stage": "ResponseComplete",
        "verb": verb,
        "user": {"username": user},
        "requestURI": "/",
        "objectRef": {"resource": resource, "subresource": subresource, "apiGroup": group},
        "responseStatus": {"code": code},
        "requestReceivedTimestamp": "2026-01-01T00:00:00.000000Z",
        "stageTimestamp": "2026-01-01T00:00:00.000000Z",
    }


def test_writes_of_one_user_are_counted_by_verb_resource_and_code() -> None:
    log = [
        line("ours", "create", 201, "pods", "binding"),
        line("ours", "create", 403, "events"),
        line("ours", "create", 403, "events"),
        line("ours", "get", 200, "pods"),
        line("theirs", "patch", 200, "pods", "status"),
    ]
    counts = counted(map(parse_event, log), "ours")
    assert counts == {
        Kind("create", "pods/binding", 201): 1,
        Kind("create", EVENTS, 403): 2,
    }


def test_what_the_second_sends_more_often_is_named_with_all_answers_together() -> None:
    theirs = Counter({Kind("create", EVENTS, 201): 5, Kind("patch", "pods/status", 200): 4})
    ours = Counter(
        {
            Kind("create", EVENTS, 201): 3,
            Kind("create", EVENTS, 403): 1,
            Kind("patch", "pods/status", 200): 5,
            Kind("delete", "pods", 200): 1,
        }
    )
    requests = Requests("theirs", "ours", {"theirs": theirs, "ours": ours})
    assert requests.more() == [
        "delete pods: 1 by ours, 0 by theirs",
        "patch pods/status: 5 by ours, 4 by theirs",
        f"create {EVENTS} that are refused: 1 by ours, 0 by theirs",
    ]
    table = requests.table()
    assert len(table) == 5
    assert table[0].split() == ["request", "code", "theirs", "ours"]
    assert [" ".join(row.split()[-2:]) for row in table[1:]] == ["5 3", "0 1", "0 1", "4 5"]
    assert requests.line()["theirs"][0] == {
        "verb": "create",
        "resource": EVENTS,
        "code": 201,
        "count": 5,
    }
