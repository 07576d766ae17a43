"""Lines of a watch that are decoded before their turn change the engine as `watch` does."""

from __future__ import annotations

from kpolicy.engine import Engine, Labelled, Located, read_lines, take_lines
from kpolicy.testing import node
from tests.unit.journal.journaled_engine import NOW_NS, lines, on_node, page, pending, program

KERNEL = """\
apiVersion: kpolicy.dev/v1alpha1
kind: SchedulingPolicy
metadata: {name: kernel}
spec:
  base: kube-scheduler-default
  profiles: [{schedulerName: kpolicy}]
  predicates:
    - {name: new-kernel, expression: "node.status.nodeInfo.kernelVersion == '6.1'"}
"""
EVENTS = lines(
    ("ADDED", pending("a")),
    ("MODIFIED", on_node("a", "n0")),
    ("ADDED", pending("b")),
    ("ADDED", on_node("c", "n1")),
    ("DELETED", pending("b")),
    ("MODIFIED", on_node("listed", "n1")),
)


def engine(policy: str = "") -> Engine:
    made = Engine(7, threads=1)
    assert made.load(program(policy)) == []
    for resource, items in (
        ("nodes", [node("n0", cpu="4"), node("n1", cpu="4")]),
        ("pods", [pending("listed")]),
    ):
        made.list_begin(resource)
        made.list_page(resource, page(resource, items), NOW_NS)
        made.list_end(resource, NOW_NS)
    return made


def test_they_leave_the_engine_as_a_watch_does() -> None:
    watching, taking = engine(), engine()
    watching.watch("pods", EVENTS, NOW_NS)
    (read,) = read_lines(taking, [("pods", EVENTS)])
    assert take_lines(taking, "pods", EVENTS, read, NOW_NS) is None
    assert taking.holdings() == watching.holdings()
    assert b'"default/c"' in taking.holdings()
    assert take_lines(taking, "pods", EVENTS, read, NOW_NS) is None, "they are taken once"
    assert taking.holdings() == watching.holdings()


def test_they_stop_at_pods_that_another_scheduler_placed() -> None:
    taking = engine()
    (read,) = read_lines(taking, [("pods", EVENTS)])

    def take() -> Located | None:
        return take_lines(taking, "pods", EVENTS, read, NOW_NS, stops_at_binds=True)

    assert take() == Located("a", "default", "a", "n0")
    assert [pod.uid for pod in taking.pending()] == ["a", "listed"], "it is as before that event"
    assert take() == Located("listed", "default", "listed", "n1")
    assert take() is None
    assert taking.pending() == []


def test_a_pod_that_was_decided_here_is_not_of_another_scheduler() -> None:
    taking = engine()
    (decision,) = taking.schedule(["listed"], NOW_NS).decisions
    shown = lines(("MODIFIED", pending("listed")), ("MODIFIED", on_node("listed", decision.node)))
    (read,) = read_lines(taking, [("pods", shown)])
    assert take_lines(taking, "pods", shown, read, NOW_NS, stops_at_binds=True) is None
    assert taking.located(["listed"])[0].node == decision.node


def test_lines_read_for_another_program_are_read_again() -> None:
    late = node("late", cpu="4")
    late["status"]["nodeInfo"] = {"kernelVersion": "6.1"}
    shown = lines(("ADDED", late))
    taking = engine()
    (read,) = read_lines(taking, [("nodes", shown)])
    assert taking.load(program(KERNEL)) == []
    assert take_lines(taking, "nodes", shown, read, NOW_NS) is None
    (decision,) = taking.schedule(["listed"], NOW_NS).decisions
    assert decision.node == "late"


def test_workloads_are_told_by_owner_and_labels() -> None:
    taking = engine()
    pod = pending("web-1")
    pod["metadata"] |= {
        "labels": {"app": "web"},
        "ownerReferences": [
            {"kind": "Other", "name": "no", "uid": "x"},
            {"kind": "ReplicaSet", "name": "web", "uid": "y", "controller": True},
        ],
    }
    taking.watch("pods", lines(("ADDED", pod)), NOW_NS)
    assert taking.labelled(["web-1", "unknown", "listed"]) == [
        Labelled("web-1", "default", "web-1", "web", [("app", "web")]),
        Labelled("listed", "default", "listed", "", []),
    ]
