"""Which changes are of rules, which only follow from others, and that chance makes none."""

from __future__ import annotations

import pytest

from kpolicy import Program, Snapshot, compile_policy
from kpolicy.offline.plan.side_by_side import DecidedTwice, decided_twice
from kpolicy.testing import node, pod
from tests.unit.offline.worlds import POLICY, PREEMPTING

# By chance among equal nodes, where POLICY takes the first name.
BY_CHANCE = POLICY.replace("  tieBreak: name\n", "")
NOT_N1 = """\
    - name: not-n1
      expression: node.name != 'n1' || pod.name != 'a'
"""


def program(text: str) -> Program:
    compiled = compile_policy(text)
    assert compiled.program is not None, compiled.diagnostics
    return compiled.program


def with_rule(text: str, rule: str = NOT_N1) -> str:
    return text.replace("  priorities:\n", f"{rule}  priorities:\n")


def compare(objects: list[dict[str, object]], old: str, new: str) -> dict[str, DecidedTwice]:
    pairs = decided_twice(Snapshot.of(objects), program(old), program(new), seed=3)
    return {pair.pod.pod.partition("/")[2]: pair for pair in pairs}


def nodes(pair: DecidedTwice) -> tuple[str, str]:
    assert pair.old is not None
    assert pair.new is not None
    return pair.old.node, pair.new.node


def test_another_choice_among_equal_nodes_is_no_change() -> None:
    objects = [node(f"n{number}", cpu="64") for number in range(40)]
    objects += [pod(f"p{number}", cpu="1") for number in range(30)]
    was, is_now = (compare(objects, text, text) for text in (BY_CHANCE, POLICY))
    assert {key: nodes(pair)[0] for key, pair in was.items()} != {
        key: nodes(pair)[0] for key, pair in is_now.items()
    }, "chance chooses other nodes than names do"
    pairs = compare(objects, BY_CHANCE, POLICY)
    assert len(pairs) == 30
    assert all(was == is_now for was, is_now in map(nodes, pairs.values()))
    assert not any(pair.is_by_rules for pair in pairs.values())


def test_a_pod_whose_room_another_pod_takes_moves_indirectly() -> None:
    """The rule keeps `a` from n1; `b` then finds n2 full, and goes to n1."""
    objects = [
        node("n1", cpu="2"),
        node("n2", cpu="2"),
        pod("a", cpu="2", priority=10),
        pod("b", cpu="2"),
    ]
    pairs = compare(objects, POLICY, with_rule(POLICY))
    assert nodes(pairs["a"]) == ("n1", "n2")
    assert (pairs["a"].is_by_rules, pairs["a"].rule) == (True, "not-n1")
    assert nodes(pairs["b"]) == ("n2", "n1")
    assert (pairs["b"].is_by_rules, pairs["b"].rule) == (False, "")


def test_every_rule_that_makes_a_difference_is_named_also_late_in_the_queue() -> None:
    objects = [node("n1", cpu="64"), node("n2", cpu="4")]
    objects += [pod(f"p{number}", cpu="1") for number in range(20)]
    rule = (
        "    - name: no-seven\n"
        "      expression: node.name != 'n1' || !(pod.name in ['p7', 'p15'])\n"
    )
    pairs = compare(objects, POLICY, with_rule(POLICY, rule))
    assert {name for name, pair in pairs.items() if pair.is_by_rules} == {"p7", "p15"}
    assert {pairs[name].rule for name in ("p7", "p15")} == {"no-seven"}
    assert nodes(pairs["p7"]) == ("n1", "n2")


@pytest.mark.parametrize("count", [1, 600])
def test_many_pods_that_go_elsewhere_are_all_decided(count: int) -> None:
    """More than the bound after which ties with the old policy are not looked for."""
    objects = [node(name, cpu="2000", pods=2_000) for name in ("n1", "n2")]
    objects = [*objects, *(pod(f"p{number}", cpu="1") for number in range(count))]
    rule = "    - name: off-n1\n      expression: node.name != 'n1'\n"
    prefer = POLICY.replace("label(node, 'disk') == 'ssd'", "node.name == 'n1'")
    pairs = compare(objects, prefer, with_rule(prefer, rule))
    assert [nodes(pair) for pair in pairs.values()] == [("n1", "n2")] * count
    assert all(pair.is_by_rules for pair in pairs.values())


def test_victims_of_each_policy_are_known() -> None:
    objects = [node("n1", cpu="2"), pod("low", cpu="2", node_name="n1"), pod("high", cpu="2")]
    objects[2]["spec"]["priority"] = 100
    pair = compare(objects, POLICY, PREEMPTING)["high"]
    assert pair.old is not None
    assert pair.new is not None
    assert (pair.old.victims, pair.new.victims) == ((), ("default/low",))


def test_a_pod_that_the_new_policy_holds_is_parked_by_a_rule() -> None:
    hold = """\
  queue:
    holds:
      - name: nights-only
        when: "true"
        message: waits
"""
    pair = compare([node("n1"), pod("a", cpu="1")], POLICY, POLICY + hold)["a"]
    assert nodes(pair) == ("n1", "")
    assert (pair.is_by_rules, pair.rule) == (True, "nights-only")
