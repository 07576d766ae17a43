"""Profiles, overrides, bases, and several policies of one profile."""

from __future__ import annotations

from typing import Any

from kpolicy.policy.compile import compile_policy
from kpolicy.policy.yaml.source import Source
from tests.unit.policy.policies import codes_and_places, document, errors, names, policy, profile

BASE = policy(
    """
predicates:
  - builtin: NodeName
  - {name: ready, expression: node.ready}
priorities:
  - {name: flat, weight: 3, expression: '50'}
  - {builtin: ImageLocality, weight: 2}
""",
    "base",
    profile="",
)


def test_a_child_inherits_replaces_and_removes_by_name() -> None:
    child = policy(
        """
base: base
predicates:
  - {name: ready, expression: '!node.unschedulable', message: cordoned}
  - {name: extra, expression: pod.priority > 0}
priorities:
  - {name: flat, weight: 0, expression: '1'}
  - {builtin: ImageLocality, weight: 7}
""",
        "child",
    )
    entry = profile(compile_policy([BASE, child]))
    assert names(entry["filters"]) == ["NodeName", "ready", "extra"]
    assert entry["filters"][1]["message"] == "cordoned"
    assert [(rule["name"], rule["weight"]) for rule in entry["scores"]] == [("ImageLocality", 7)]


def test_a_name_is_enough_to_remove_a_rule_of_the_base() -> None:
    removing = """
base: base
predicates: [{name: ready, enabled: false}, {name: NodeName, enabled: false}]
priorities: [{name: flat, enabled: false}]
"""
    compiled = compile_policy([BASE, policy(removing, "child")])
    assert not errors(compiled)
    entry = profile(compiled)
    assert (names(entry["filters"]), names(entry["scores"])) == ([], ["ImageLocality"])


def test_a_rule_that_some_pods_go_without_stays_for_the_others() -> None:
    removing = """
base: base
matchConditions: [{name: low, expression: pod.priority < 0}]
predicates: [{name: ready, enabled: false}]
"""
    entry = profile(compile_policy([BASE, policy(removing, "child")]))
    assert [len(rule.get("match", ())) for rule in entry["filters"]] == [0, 1]
    shadow = policy(removing.replace("matchConditions", "shadow: true\nmatchConditions"), "child")
    entry = profile(compile_policy([BASE, shadow]))
    assert [len(rule.get("match", ())) for rule in entry["filters"]] == [0, 0]


def test_what_comes_with_kpolicy_can_be_a_base() -> None:
    child = policy("base: kube-scheduler-default\npredicates: [{name: a, expression: node.ready}]")
    compiled = compile_policy(child)
    entry = profile(compiled)
    assert (len(entry["filters"]), len(entry["scores"])) == (15, 9)
    assert names(entry["filters"])[-1] == "a"
    assert document(compiled)["policies"] == ["p", "kube-scheduler-default"]


def test_a_base_of_a_library_is_not_served() -> None:
    child = policy("base: base", "child", profile="other")
    entry = profile(compile_policy([child], library=[Source("base.yaml", BASE)]), "other")
    assert names(entry["filters"]) == ["NodeName", "ready"]
    assert "KP120" in dict(codes_and_places(compile_policy([child]).diagnostics))


def test_bases_run_neither_in_circles_nor_too_deep() -> None:
    circle = [policy("base: b", "a"), policy("base: a", "b")]
    assert {code for code, _ in codes_and_places(compile_policy(circle).diagnostics)} == {"KP120"}
    chain = [policy(f"base: n{i + 1}" if i < 6 else "", f"n{i}") for i in range(7)]
    assert "KP120" in {code for code, _ in codes_and_places(compile_policy(chain).diagnostics)}
    short = [policy(f"base: n{i + 1}" if i < 4 else "", f"n{i}") for i in range(5)]
    assert compile_policy(short).diagnostics == ()


def test_an_unknown_base_names_the_nearest() -> None:
    (finding,) = errors(compile_policy([BASE, policy("base: bsae", "child")]))
    assert (finding.code, finding.hint) == ("KP120", "did you mean `base`?")


def test_profiles_override_weights_and_switch_rules_off() -> None:
    text = policy(
        """
profiles:
  - schedulerName: one
  - schedulerName: two
    percentageOfNodesToScore: 30
    overrides:
      predicates: [{name: ready, enabled: false}]
      priorities: [{name: flat, weight: 9}, {name: least, weight: 0}]
predicates: [{builtin: NodeName}, {name: ready, expression: node.ready}]
priorities:
  - {name: flat, weight: 0, expression: '50'}
  - {builtin: NodeResourcesFit, name: least, weight: 1}
""",
        profile="",
    )
    compiled = compile_policy(text)
    first, second = profile(compiled, "one"), profile(compiled, "two")
    assert (names(first["filters"]), names(first["scores"])) == (["NodeName", "ready"], ["least"])
    assert (names(second["filters"]), names(second["scores"])) == (["NodeName"], ["flat"])
    assert second["scores"][0]["weight"] == 9
    assert (first["percentageOfNodesToScore"], second["percentageOfNodesToScore"]) == (100, 30)


def test_an_override_of_nothing_is_a_finding() -> None:
    text = policy(
        """
profiles: [{schedulerName: a, overrides: {priorities: [{name: falt, weight: 1}]}}]
priorities: [{name: flat, expression: '50'}]
""",
        profile="",
    )
    (finding,) = errors(compile_policy(text))
    assert (finding.code, finding.hint) == ("KP122", "did you mean `flat`?")


def test_several_policies_of_a_profile_add_up_in_their_order() -> None:
    late = policy("order: 5\npredicates: [{name: x, expression: node.ready}]", "a")
    early = policy("predicates: [{name: y, expression: '!node.unschedulable'}]", "b")
    entry = profile(compile_policy([late, early]))
    assert names(entry["filters"]) == ["y", "x"]
    assert [rule["policy"] for rule in entry["filters"]] == [1, 0]


def test_what_two_policies_inherit_from_one_base_counts_once() -> None:
    base = BASE.replace("spec:\n", "spec:\n  profiles: [{schedulerName: kpolicy}]\n")
    overlay = policy("base: base\npredicates: [{name: x, expression: node.ready}]", "overlay")
    entry = profile(compile_policy([base, overlay]))
    assert names(entry["filters"]) == ["NodeName", "ready", "x"]
    assert [(rule["name"], rule["weight"]) for rule in entry["scores"]] == [
        ("flat", 3),
        ("ImageLocality", 2),
    ]


def test_equal_built_ins_of_two_policies_filter_once_and_add_their_weights() -> None:
    first = policy("predicates: [{builtin: NodeName}]\npriorities: [{builtin: ImageLocality}]", "a")
    second = first.replace("name: a", "name: b")
    entry = profile(compile_policy([first, second]))
    assert names(entry["filters"]) == ["NodeName"]
    assert [(s["name"], s["weight"]) for s in entry["scores"]] == [("ImageLocality", 2)]


def test_rules_of_one_name_in_two_policies_are_distinguished() -> None:
    first = policy("predicates: [{name: x, expression: node.ready}]", "a")
    second = policy("predicates: [{name: x, expression: '!node.unschedulable'}]", "b")
    assert names(profile(compile_policy([first, second]))["filters"]) == ["x", "b/x"]
    third = first.replace("name: a", "name: c").replace("node.ready", "node.podCount > 1")
    entries = profile(compile_policy([first, second, third]))["filters"]
    assert names(entries) == ["x", "b/x", "c/x"]


def test_a_built_in_that_a_policy_weighs_for_some_pods_is_named_by_the_policy() -> None:
    both = [
        policy("priorities: [{builtin: ImageLocality}]", "everyone"),
        policy(
            "matchConditions: [{name: high, expression: pod.priority > 0}]\n"
            "priorities: [{builtin: ImageLocality, weight: 5}]",
            "high",
        ),
    ]
    scores = profile(compile_policy(both))["scores"]
    assert [(entry["name"], entry["weight"]) for entry in scores] == [
        ("ImageLocality", 1),
        ("high/ImageLocality", 5),
    ]


def test_match_conditions_concern_the_rules_of_their_document() -> None:
    overlay = policy(
        """
base: base
failurePolicy: Ignore
matchConditions: [{name: high, expression: pod.priority > 0}]
predicates: [{name: x, expression: node.ready, matchConditions: [{name: c, expression: 'true'}]}]
priorities: [{builtin: TaintToleration, weight: 3}]
""",
        "overlay",
    )
    entry = profile(compile_policy([BASE, overlay]))
    conditions = {rule["name"]: len(rule.get("match", ())) for rule in entry["filters"]}
    assert conditions == {"NodeName": 0, "ready": 0, "x": 2}
    assert entry["filters"][-1]["failurePolicy"] == "Ignore"
    taints = entry["scores"][-1]
    assert (taints["name"], len(taints["match"])) == ("TaintToleration", 1)


def test_a_rule_replaced_for_some_pods_stays_for_the_others() -> None:
    overlay = policy(
        """
base: base
matchConditions: [{name: high, expression: pod.priority > 0}]
predicates: [{name: ready, expression: '!node.unschedulable'}]
""",
        "overlay",
    )
    compiled = compile_policy([BASE, overlay])
    rules = [rule for rule in profile(compiled)["filters"] if rule["name"].endswith("ready")]
    assert names(rules) == ["ready", "overlay/ready"]
    assert [len(rule["match"]) for rule in rules] == [1, 1]
    assert rules[0]["match"] != rules[1]["match"]
    assert rules[0]["policy"] != rules[1]["policy"]


def test_preemption_is_inherited_and_must_agree() -> None:
    silenced = "none  # kpolicy: ignore[KP325]"
    never = policy("preemption: {policy: Never}", "never", profile="", base=silenced)
    entry = profile(compile_policy([never, policy("base: never", "child")]))
    assert entry["preemption"]["policy"] == "Never"
    other = policy("preemption: {policy: LowerPriority}", "other")
    compiled = compile_policy([never, policy("base: never", "child"), other])
    assert [code for code, _ in codes_and_places(compiled.diagnostics)] == ["KP116"]


def weights(entry: dict[str, Any]) -> list[tuple[str, int, int]]:
    """Name, weight and number of conditions of each score."""
    return [(rule["name"], rule["weight"], len(rule.get("match", ()))) for rule in entry["scores"]]


def test_a_policy_stands_on_the_default_profile_unless_it_says_otherwise() -> None:
    default = profile(compile_policy())
    assert (len(default["filters"]), len(default["scores"])) == (14, 9)
    spec = "predicates: [{name: a, expression: node.ready}]"
    entry = profile(compile_policy(policy(spec, base="")))
    assert entry["filters"][:-1] == default["filters"]
    assert entry["scores"] == default["scores"]
    assert entry["preemption"] == default["preemption"]
    named = policy(spec, base="kube-scheduler-default")
    assert profile(compile_policy(named)) == entry | {"filters": profile_filters(named)}
    assert names(profile(compile_policy(policy(spec)))["filters"]) == ["a"]
    former = policy(f"extends: base\n{spec}", base="")
    assert names(profile(compile_policy([BASE, former]))["filters"]) == ["NodeName", "ready", "a"]


def profile_filters(text: str) -> list[dict[str, Any]]:
    filters: list[dict[str, Any]] = profile(compile_policy(text))["filters"]
    return filters


def test_a_base_has_a_base_of_its_own() -> None:
    middle = policy("priorities: [{builtin: ImageLocality, weight: 9}]", "middle", base="")
    child = policy("predicates: [{builtin: NodePorts, enabled: false}]", "child", base="middle")
    library = [Source("middle.yaml", middle)]
    entry = profile(compile_policy(child, library=library))
    assert len(entry["filters"]) == 13
    assert ("ImageLocality", 9, 0) in weights(entry)


def test_a_policy_called_like_the_default_says_that_it_has_no_base() -> None:
    own = policy("", "kube-scheduler-default", base="")
    (finding,) = errors(compile_policy(own))
    assert (finding.code, "base: none" in finding.hint) == ("KP120", True)


def test_a_predicate_of_the_base_holds_as_long_as_a_policy_of_the_profile_keeps_it() -> None:
    without = policy("predicates: [{builtin: NodePorts, enabled: false}]", "a", base="")
    other = policy("predicates: [{name: x, expression: node.ready}]", "b", base="")
    assert "NodePorts" not in names(profile(compile_policy(without))["filters"])
    filters = names(profile(compile_policy([without, other]))["filters"])
    assert sorted(filters) == sorted(set(filters))
    assert "NodePorts" in filters
    assert filters[-1] == "x"
    assert len(filters) == 15


def test_a_changed_score_of_the_base_counts_once_beside_policies_that_do_not_change_it() -> None:
    packing = (
        "priorities: [{builtin: NodeResourcesFit, weight: 5, args: {strategy: MostAllocated}}]"
    )
    other = policy("predicates: [{name: x, expression: node.ready}]", "b", base="")
    fits = [
        [
            found
            for found in weights(profile(compile_policy(policies)))
            if "ResourcesFit" in found[0]
        ]
        for policies in (
            [policy(packing, "a", base=""), other],
            [
                policy(
                    "matchConditions: [{name: high, expression: pod.priority > 0}]\n" + packing,
                    "a",
                    base="",
                ),
                other,
            ],
            [
                policy("priorities: [{builtin: NodeResourcesFit, enabled: false}]", "a", base=""),
                other,
            ],
        )
    ]
    assert fits == [
        [("NodeResourcesFit", 5, 0)],
        [("NodeResourcesFit", 1, 1), ("a/NodeResourcesFit", 5, 1)],
        [],
    ]


def test_a_shadow_policy_takes_nothing_away() -> None:
    shadow = policy(
        "shadow: true\npriorities: [{builtin: ImageLocality, enabled: false}]\n"
        "predicates: [{name: NodePorts, expression: 'node.podCount > 3'}]",
        "shadow",
        base="",
    )
    default = profile(compile_policy())
    entry = profile(compile_policy(shadow))
    assert entry["scores"] == default["scores"]
    assert [f for f in entry["filters"] if f.get("enforcement") != "audit"] == default["filters"]
