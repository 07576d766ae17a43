"""The registry of built-ins agrees with kube-scheduler's default profile."""

from __future__ import annotations

from build.engine_tables import BUILTIN_TABLE, builtin_text
from kpolicy.policy.compile import compile_policy, shipped_names, shipped_source
from kpolicy.policy.models.builtins import ALWAYS_ON, ARGS, BUILTINS, PREEMPTION, filled
from tests.unit.policy.policies import codes_and_places, names, policy, profile


def test_the_shipped_default_is_the_default_profile_of_the_registry() -> None:
    entry = profile(compile_policy([shipped_source("kube-scheduler-default")]))
    defaults = [builtin for builtin in BUILTINS.values() if builtin.is_default]
    assert names(entry["filters"]) == [builtin.name for builtin in defaults if builtin.filters]
    assert {score["name"]: score["weight"] for score in entry["scores"]} == {
        builtin.name: builtin.weight for builtin in defaults if builtin.scores
    }


def test_each_built_in_does_something_and_has_a_weight_only_where_it_scores() -> None:
    assert len(BUILTINS) > 20
    for builtin in BUILTINS.values():
        assert builtin.filters or builtin.scores
        assert (builtin.weight > 0) == (builtin.is_default and builtin.scores)
    assert not (ALWAYS_ON | {PREEMPTION}) & set(BUILTINS)


def test_the_table_is_the_list_of_the_engine() -> None:
    assert BUILTIN_TABLE.read_text() == builtin_text(), "run make generated"
    assert len(ARGS) > 10
    assert set(BUILTINS) > set(ARGS)


def test_arguments_have_the_defaults_of_kube_scheduler() -> None:
    defaults = {
        name: filled(BUILTINS[name].args.model_validate({}))
        for name in BUILTINS
        if name != "RequestedToCapacityRatio"
    }
    assert defaults["NodeResourcesFit"]["scoringStrategy"] == {
        "type": "LeastAllocated",
        "resources": [{"name": "cpu", "weight": 1}, {"name": "memory", "weight": 1}],
    }
    assert defaults["InterPodAffinity"] == {
        "hardPodAffinityWeight": 1,
        "ignorePreferredTermsOfExistingPods": False,
    }
    assert defaults["VolumeBinding"] == {"bindTimeoutSeconds": 600}
    assert defaults["PodTopologySpread"] == {"defaultingType": "System", "defaultConstraints": []}
    assert defaults["NodeName"] == defaults["NodeAffinity"] == {}


def test_a_weight_of_zero_of_a_resource_is_one() -> None:
    model = BUILTINS["NodeResourcesFit"].args.model_validate(
        {"scoringStrategy": {"type": "MostAllocated", "resources": [{"name": "cpu", "weight": 0}]}}
    )
    assert filled(model)["scoringStrategy"]["resources"] == [{"name": "cpu", "weight": 1}]


def test_every_shipped_policy_compiles_without_a_finding() -> None:
    assert {"demo", "demo-reloaded", "kube-scheduler-default"} <= set(shipped_names())
    for name in shipped_names():
        compiled = compile_policy([shipped_source(name)])
        assert compiled.diagnostics == (), name
        assert compiled.program is not None


def test_the_reloaded_demo_decides_otherwise_for_the_same_pods() -> None:
    before, after = (
        profile(compile_policy([shipped_source(name)])) for name in ("demo", "demo-reloaded")
    )
    assert names(before["filters"]) == names(after["filters"])
    assert before["scores"] != after["scores"]


def affinity(args: str) -> str:
    spec = "predicates: [{builtin: NodeResourcesFit}]\n"
    return policy(f"{spec}priorities:\n  - {{builtin: ServiceAffinity, args: {{{args}}}}}")


def test_one_label_to_spread_services_over_has_a_short_form() -> None:
    short = compile_policy(affinity("antiAffinityLabel: rack"))
    full = compile_policy(affinity("antiAffinityLabelsPreference: [rack]"))
    assert short.program is not None
    assert full.program is not None
    assert short.program.bytes == full.program.bytes
    assert short.diagnostics == ()


def test_the_short_form_does_not_go_with_the_long_one() -> None:
    both = affinity("antiAffinityLabel: rack, antiAffinityLabelsPreference: [zone]")
    assert [code for code, _ in codes_and_places(compile_policy(both).diagnostics)] == ["KP115"]
