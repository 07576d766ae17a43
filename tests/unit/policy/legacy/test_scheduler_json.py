"""The legacy Policy: all published documents, with the results of kube-scheduler 1.20."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from kpolicy.policy.compile import Compiled, compile_policy
from kpolicy.policy.legacy.meanings import ORDER, ORDER_GENERAL, PREDICATES, PRIORITIES
from kpolicy.policy.models.builtins import BUILTINS
from kpolicy.policy.yaml.source import Source
from tests.unit.policy.policies import codes_and_places, names, profile

FOLDER = Path(__file__).parents[3] / "conformance" / "policy-1.20"
DOCUMENTS = {
    path.name.removesuffix(".json.gz"): json.loads(gzip.decompress(path.read_bytes()))
    for path in sorted(FOLDER.glob("*.json.gz"))
}
# Documents that kpolicy refuses too; all others load, some more kindly than 1.20 did.
REFUSED = {"X01", "X02", "X04", "X05", "X06", "X07", "X09", "X10", "X11", "X12", "X13", "X14"}


def compiled(name: str, release: str = "") -> Compiled:
    text = json.dumps(DOCUMENTS[name]["policy"], indent=1)
    return compile_policy([Source(f"{name}.json", text)], release=release)


def entry(name: str, release: str = "") -> dict[str, Any]:
    return profile(compiled(name, release), "default-scheduler")


def of(policy: dict[str, Any], release: str = "") -> Compiled:
    text = json.dumps({"kind": "Policy", "apiVersion": "v1", **policy})
    return compile_policy([Source("scheduler.json", text)], release=release)


def plugin(rule: dict[str, Any]) -> str:
    """The plugin of 1.20 that did what the rule does."""
    builtin: str = rule["builtin"]
    return {"SelectorSpread": "PodTopologySpread"}.get(builtin, builtin)


def test_every_document_loads_or_is_refused_with_an_error() -> None:
    assert len(DOCUMENTS) == 41
    refused = {name for name in DOCUMENTS if compiled(name).program is None}
    assert refused == REFUSED


@pytest.mark.parametrize("name", sorted(set(DOCUMENTS) - REFUSED))
def test_filters_and_weights_are_those_of_1_20(name: str) -> None:
    theirs = DOCUMENTS[name]["kube-scheduler-1.20"]
    if "filters" not in theirs:
        return
    ours = entry(name)
    assert {plugin(rule) for rule in ours["filters"]} == set(theirs["filters"])
    weights: Counter[str] = Counter()
    for rule in ours["scores"]:
        weights[plugin(rule)] += rule["weight"]
    # 1.20 made one plugin of both spreading priorities; here they are two.
    spread = weights.pop("PodTopologySpread", 0)
    expected = dict(theirs.get("scores") or {})
    assert (spread > 0) == (expected.pop("PodTopologySpread", 0) > 0)
    assert weights == expected


def test_nineteen_documents_are_compared_with_1_20() -> None:
    with_filters = [n for n in DOCUMENTS if "filters" in DOCUMENTS[n]["kube-scheduler-1.20"]]
    assert len(set(with_filters) - REFUSED) == 19


def test_every_name_has_a_place_in_the_order_and_a_built_in_that_exists() -> None:
    assert len(PREDICATES) == 24
    for name, meanings in PREDICATES.items():
        for meaning in meanings:
            assert (meaning.builtin or name) in ORDER
            assert not meaning.builtin or BUILTINS[meaning.builtin].filters
    assert len(PRIORITIES) == 14
    for meanings in PRIORITIES.values():
        assert all(not m.builtin or BUILTINS[m.builtin].scores for m in meanings)
    assert sorted(ORDER) == sorted(ORDER_GENERAL)


def test_one_ratio_with_an_argument_and_one_without_are_two() -> None:
    argument = {"requestedToCapacityRatioArguments": {"shape": [{"utilization": 0, "score": 1}]}}
    listed = [
        {"name": "RequestedToCapacityRatioPriority", "weight": 1},
        {"name": "Mine", "weight": 2, "argument": argument},
    ]
    scores = profile(of({"predicates": [], "priorities": listed}), "default-scheduler")["scores"]
    assert names(scores) == ["RequestedToCapacityRatioPriority", "Mine"]


def test_names_become_built_ins_and_labels_of_several_entries_are_asked_together() -> None:
    found = entry("F19")
    assert names(found["filters"]) == [
        "NodeUnschedulable",
        "NodePorts",
        "NodeAffinity",
        "TaintToleration",
        "NodeLabel",
        "ServiceAffinity",
    ]
    labels = found["filters"][4]["args"]
    assert (labels["presentLabels"], labels["absentLabels"]) == (["region"], ["building"])
    assert found["filters"][5]["args"]["affinityLabels"] == ["region"]
    listed = [
        {"name": name, "argument": {"serviceAffinity": {"labels": labels}}}
        for name, labels in (("A", ["region", "zone"]), ("B", ["rack", "zone"]))
    ]
    both = profile(of({"predicates": listed, "priorities": []}), "default-scheduler")["filters"]
    assert both[-1]["args"]["affinityLabels"] == ["region", "zone", "rack"]


def test_preferences_keep_their_names_where_there_are_several() -> None:
    preferred = {rule["name"]: rule["args"] for rule in entry("F02")["scores"]}
    assert preferred["TestLabelPreference1"]["presentLabelsPreference"] == ["bar"]
    assert preferred["TestLabelPreference2"]["absentLabelsPreference"] == ["foo"]
    assert "NodeLabel" in names(entry("F01")["scores"])


def test_scores_are_those_of_the_release_where_one_is_pinned() -> None:
    assert all("release" not in rule for rule in entry("F23")["scores"])
    assert {rule["release"] for rule in entry("F23", "v1.16.3")["scores"]} == {16}
    assert "EqualPriority" not in names(entry("F02", "1.17")["scores"])
    assert "EqualPriority" in names(entry("F02", "1.16")["scores"])


def test_a_file_may_say_which_release_it_was_written_for() -> None:
    listed: dict[str, Any] = {
        "predicates": [],
        "priorities": [{"name": "EqualPriority", "weight": 3}],
        "compatibility": {"release": "1.16"},
    }
    (score,) = profile(of(listed), "default-scheduler")["scores"]
    assert (score["builtin"], score["release"], score["weight"]) == ("EqualPriority", 16, 3)
    assert profile(of(listed, "1.18"), "default-scheduler")["scores"] == []
    unreadable = of({**listed, "compatibility": {"release": "new"}})
    assert unreadable.program is None
    assert {code for code, _ in codes_and_places(unreadable.diagnostics)} == {"KP113"}


def test_weights_that_rank_on_the_old_scale_are_reported() -> None:
    reported = [finding for finding in compiled("F23").diagnostics if "0 to 10" in finding.message]
    assert len(reported) == 1
    assert "compatibility" in reported[0].hint
    assert not [
        finding for finding in compiled("F23", "1.16").diagnostics if "0 to 10" in finding.message
    ]
    others = set(DOCUMENTS) - REFUSED - {"F23"}
    assert not [n for n in others for d in compiled(n).diagnostics if "0 to 10" in d.message]


def test_each_check_is_asked_once_however_often_it_is_named() -> None:
    found = entry("F04")["filters"]
    assert len(names(found)) == len(set(names(found)))
    assert names(found)[:5] == [
        "NodeUnschedulable",
        "NodeResourcesFit",
        "NodeName",
        "NodePorts",
        "NodeAffinity",
    ]


def test_terms_of_one_kind_are_independent() -> None:
    scores = {rule["name"]: rule["weight"] for rule in entry("F02")["scores"]}
    assert scores["TestServiceAntiAffinity1"] == scores["TestServiceAntiAffinity2"] == 3
    assert scores["TestLabelPreference1"] == scores["TestLabelPreference2"] == 4
    assert {rule["weight"] for rule in entry("X08")["scores"]} == {1, 3}


def test_missing_lists_mean_what_the_release_meant() -> None:
    missing: dict[str, Any] = {}
    newest = profile(of(missing), "default-scheduler")
    assert "PodTopologySpread" in names(newest["filters"])
    assert len(newest["scores"]) == 9
    old = profile(of(missing, "1.9"), "default-scheduler")
    assert names(old["filters"]) == ["CheckNodeCondition", "NodeUnschedulable"]
    assert old["scores"] == []
    empty = profile(of({"predicates": [], "priorities": []}), "default-scheduler")
    assert names(empty["filters"]) == ["NodeUnschedulable", "TaintToleration"]
    assert empty["scores"] == []


def test_custom_predicates_run_unless_a_release_is_pinned_that_never_asked_them() -> None:
    assert "ServiceAffinity" in names(entry("F16")["filters"])
    pinned = compiled("F16", "1.11")
    assert "ServiceAffinity" not in names(profile(pinned, "default-scheduler")["filters"])
    assert "KP602" in dict(codes_and_places(pinned.diagnostics))


def test_an_argument_of_a_built_in_name_counts_until_1_17() -> None:
    assert "ServiceAffinity" in names(entry("X17")["filters"])
    assert "ServiceAffinity" not in names(entry("X17", "1.18")["filters"])


def test_spreading_by_owner_stays_unless_1_20_is_pinned() -> None:
    priorities = {"predicates": [], "priorities": [{"name": "SelectorSpreadPriority", "weight": 1}]}
    assert profile(of(priorities), "default-scheduler")["scores"][0]["builtin"] == "SelectorSpread"
    pinned = profile(of(priorities, "1.20"), "default-scheduler")
    assert pinned["scores"][0]["builtin"] == "PodTopologySpread"


def test_node_conditions_are_asked_of_the_node() -> None:
    found = {rule["name"]: rule for rule in entry("F21")["filters"]}
    assert found["CheckNodeMemoryPressure"]["message"] == "node(s) had memory pressure"
    assert found["CheckNodeCondition"]["messageExpression"] is not None


def test_the_symmetric_weight_is_that_of_pod_affinity() -> None:
    for name, weight in (("F21", 10), ("F24", 10), ("F22", 1)):
        rule = next(r for r in entry(name)["scores"] if r["name"] == "InterPodAffinity")
        assert rule["args"]["hardPodAffinityWeight"] == weight


def test_extenders_are_read_in_any_case_with_nanoseconds() -> None:
    program = compiled("F05").program
    assert program is not None
    (extender,) = program.profiles[0].extenders
    assert (extender.bind_verb, extender.http_timeout) == ("bind", "1ns")
    assert extender.enable_https
    assert extender.tls_config is not None
    assert extender.tls_config.insecure
    fit = next(r for r in entry("F06")["filters"] if r["name"] == "NodeResourcesFit")
    assert fit["args"]["ignoredResources"] == ["example.com/foo"]


def test_the_singular_extender_is_reported_and_not_called() -> None:
    result = compiled("F11")
    (finding,) = result.diagnostics
    assert (finding.code, finding.hint) == ("KP102", "did you mean `extenders`?")
    assert result.program is not None
    assert result.program.profiles[0].extenders == ()


def test_packing_without_a_check_of_resources_is_warned() -> None:
    assert [code for code, _ in codes_and_places(compiled("F25").diagnostics)] == ["KP325"]


def test_json_with_a_trailing_comma_is_refused_where_it_stands() -> None:
    text = '{"kind":"Policy","apiVersion":"v1",\n "predicates":[{"name":"HostName"},]}\n'
    result = compile_policy([Source("policy.cfg", text)])
    assert [code for code, _ in codes_and_places(result.diagnostics)] == ["KP101"]
    assert codes_and_places(result.diagnostics)[0][1].startswith("2:")


def test_yaml_and_a_file_without_kind_are_read() -> None:
    result = compile_policy("predicates:\n- name: HostName\npriorities: []\n")
    assert "NodeName" in names(profile(result, "default-scheduler")["filters"])


@pytest.mark.parametrize(
    ("policy", "code"),
    [
        ({"priorities": [{"name": "EqualPriority", "weight": -2}]}, "KP113"),
        ({"predicates": [{"name": "PodFitsResource"}]}, "KP103"),
        ({"predicates": [{"name": "A", "argument": {}}]}, "KP603"),
        (
            {"predicates": [{"name": "A", "argument": {"serviceAffinity": {"labels": ["a, b"]}}}]},
            "KP603",
        ),
        ({"predicates": [{}]}, "KP114"),
        ({"predicates": "x"}, "KP113"),
        ({"hardPodAffinitySymmetricWeight": 101}, "KP113"),
    ],
)
def test_what_no_release_took_is_refused(policy: dict[str, Any], code: str) -> None:
    result = of(policy)
    assert result.program is None
    assert code in dict(codes_and_places(result.diagnostics))


def test_a_config_map_with_policy_cfg_is_read() -> None:
    text = (
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: scheduler-policy}\ndata:\n"
        '  policy.cfg: |\n    {"kind": "Policy", "predicates": [{"name": "HostName"}],\n'
        '     "priorities": []}\n'
    )
    found = profile(compile_policy(text), "default-scheduler")
    assert "NodeName" in names(found["filters"])
