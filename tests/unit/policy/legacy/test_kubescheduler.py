"""KubeSchedulerConfiguration files mean what they mean to kube-scheduler."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kpolicy.diagnostics import Severity
from kpolicy.policy.compile import Compiled, compile_policy
from kpolicy.policy.yaml.source import Source
from tests.unit.policy.policies import codes_and_places, names, profile

CONFIGS = Path(__file__).parents[3] / "conformance" / "kube-scheduler-1.36" / "configs"
HEAD = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"

FILTERS = [
    "NodeUnschedulable",
    "NodeName",
    "TaintToleration",
    "NodeAffinity",
    "NodePorts",
    "NodeResourcesFit",
    "VolumeRestrictions",
    "NodeVolumeLimits",
    "VolumeBinding",
    "VolumeZone",
    "PodTopologySpread",
    "InterPodAffinity",
    "DynamicResources",
    "NodeDeclaredFeatures",
]
WEIGHTS = {
    "TaintToleration": 3,
    "NodeAffinity": 2,
    "NodeResourcesFit": 1,
    "VolumeBinding": 1,
    "PodTopologySpread": 2,
    "InterPodAffinity": 2,
    "DynamicResources": 2,
    "NodeResourcesBalancedAllocation": 1,
    "ImageLocality": 1,
}


def compiled(name: str) -> dict[str, Any]:
    source = Source(name, (CONFIGS / name).read_bytes())
    result = compile_policy([source])
    assert result.diagnostics == ()
    return profile(result, "default-scheduler")


def of(text: str, scheduler_name: str = "default-scheduler") -> dict[str, Any]:
    return profile(compile_policy(HEAD + text), scheduler_name)


def weights(entry: dict[str, Any]) -> dict[str, int]:
    return {score["name"]: score["weight"] for score in entry["scores"]}


def args(entry: dict[str, Any], name: str) -> dict[str, Any]:
    """The arguments of a plugin, which are the same in both its entries."""
    both = [rule["args"] for rule in entry["filters"] + entry["scores"] if rule["name"] == name]
    assert both
    assert all(args == both[0] for args in both)
    found: dict[str, Any] = both[0]
    return found


def test_an_empty_configuration_is_the_default_profile() -> None:
    entry = of("")
    assert names(entry["filters"]) == FILTERS
    assert weights(entry) == WEIGHTS
    assert entry["preemption"] == {
        "policy": "LowerPriority",
        "minCandidateNodesPercentage": 10,
        "minCandidateNodesAbsolute": 100,
    }
    shipped = profile(compile_policy([]))
    assert {**shipped, "schedulerName": ""} == {**entry, "schedulerName": ""}


def test_every_golden_configuration_compiles() -> None:
    found = sorted(path.name for path in CONFIGS.glob("*.yaml"))
    assert len(found) == 5
    for name in found:
        assert len(compiled(name)["filters"]) >= 13


def test_added_affinity_and_default_spreading() -> None:
    entry = compiled("added-affinity-and-default-spread.yaml")
    assert (names(entry["filters"]), weights(entry)) == (FILTERS, WEIGHTS)
    added = args(entry, "NodeAffinity")["addedAffinity"]
    required = added["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]
    assert required[0]["matchExpressions"] == [
        {"key": "kubernetes.io/arch", "operator": "In", "values": ["amd64"]}
    ]
    preferred = added["preferredDuringSchedulingIgnoredDuringExecution"]
    assert preferred[0]["weight"] == 40
    spread = args(entry, "PodTopologySpread")
    assert spread["defaultingType"] == "List"
    assert [constraint["maxSkew"] for constraint in spread["defaultConstraints"]] == [1, 2]


def test_arguments_of_affinity_and_resources() -> None:
    entry = compiled("interpod-args-and-fit-ignored.yaml")
    assert args(entry, "InterPodAffinity") == {
        "hardPodAffinityWeight": 37,
        "ignorePreferredTermsOfExistingPods": True,
    }
    fit = args(entry, "NodeResourcesFit")
    assert fit["ignoredResources"] == ["example.com/gpu"]
    assert [
        (source["name"], source["weight"]) for source in fit["scoringStrategy"]["resources"]
    ] == [
        ("cpu", 1),
        ("memory", 1),
        ("ephemeral-storage", 2),
    ]
    balanced = args(entry, "NodeResourcesBalancedAllocation")["resources"]
    assert [resource["name"] for resource in balanced] == ["cpu", "memory", "ephemeral-storage"]


def test_most_allocated() -> None:
    strategy = args(compiled("most-allocated.yaml"), "NodeResourcesFit")["scoringStrategy"]
    assert strategy["type"] == "MostAllocated"
    assert [source["weight"] for source in strategy["resources"]] == [3, 1, 5]


def test_requested_to_capacity_ratio() -> None:
    strategy = args(compiled("requested-to-capacity-ratio.yaml"), "NodeResourcesFit")
    shape = strategy["scoringStrategy"]["requestedToCapacityRatio"]["shape"]
    assert [(point["utilization"], point["score"]) for point in shape] == [
        (0, 2),
        (40, 10),
        (80, 7),
        (100, 0),
    ]


def test_weights_and_disabled_plugins() -> None:
    entry = compiled("weights-and-disabled.yaml")
    assert names(entry["filters"]) == [name for name in FILTERS if name != "NodePorts"]
    expected = {**WEIGHTS, "TaintToleration": 7, "NodeResourcesBalancedAllocation": 4}
    del expected["ImageLocality"], expected["InterPodAffinity"]
    assert weights(entry) == expected


def test_a_plugin_named_at_a_point_comes_first_there_with_its_weight() -> None:
    entry = of(
        "profiles:\n- plugins:\n    filter: {enabled: [{name: NodePorts}]}\n"
        "    score: {enabled: [{name: ImageLocality, weight: 9}], "
        "disabled: [{name: TaintToleration}]}\n"
    )
    assert names(entry["filters"])[:2] == ["NodePorts", "NodeUnschedulable"]
    assert names(entry["scores"])[0] == "ImageLocality"
    assert weights(entry)["ImageLocality"] == 9
    assert "TaintToleration" not in weights(entry)
    assert "TaintToleration" in names(entry["filters"])


def test_everything_can_be_disabled_and_some_enabled_in_another_order() -> None:
    entry = of(
        "profiles:\n- plugins:\n    multiPoint:\n      disabled: [{name: '*'}]\n"
        "      enabled: [{name: NodeResourcesFit}, {name: NodeName}]\n"
    )
    assert names(entry["filters"]) == ["NodeResourcesFit", "NodeName"]
    assert weights(entry) == {"NodeResourcesFit": 1}
    assert entry["preemption"]["policy"] == "Never"


def test_a_default_plugin_enabled_again_takes_the_weight_written() -> None:
    text = "profiles:\n- plugins: {multiPoint: {enabled: [{name: TaintToleration}]}}\n"
    entry = of(text)
    assert weights(entry)["TaintToleration"] == 1
    assert names(entry["filters"]) == FILTERS


def test_profiles_are_distinguished_and_share_extenders() -> None:
    text = (
        "percentageOfNodesToScore: 40\n"
        "profiles:\n- schedulerName: a\n- schedulerName: b\n  percentageOfNodesToScore: 0\n"
        "  pluginConfig: [{name: DefaultPreemption, args: {minCandidateNodesAbsolute: 5}}]\n"
        "extenders:\n- urlPrefix: http://x/s\n  filterVerb: f\n  enableHTTPS: true\n"
        "  httpTimeout: 100ms\n"
        "  managedResources: [{name: example.com/foo, ignoredByScheduler: true}]\n"
    )
    result = compile_policy(HEAD + text)
    assert result.diagnostics == ()
    assert result.program is not None
    a, b = profile(result, "a"), profile(result, "b")
    assert (a["percentageOfNodesToScore"], b["percentageOfNodesToScore"]) == (40, 0)
    assert b["preemption"]["minCandidateNodesAbsolute"] == 5
    assert args(a, "NodeResourcesFit")["ignoredResources"] == ["example.com/foo"]
    for of_profile in result.program.profiles:
        (extender,) = of_profile.extenders
        assert (extender.url_prefix, extender.enable_https) == ("http://x/s", True)
        assert extender.http_timeout == "100ms"


@pytest.mark.parametrize(
    ("text", "code", "at"),
    [
        ("profiles: [{plugins: {score: {enabled: [{name: Nope}]}}}]", "KP103", "3:48"),
        ("profiles: [{pluginConfig: [{name: Nope, args: {}}]}]", "KP103", "3:35"),
        ("profiles: [{schedulerName: a}, {schedulerName: a}]", "KP104", "3:48"),
        ("profiles: [{schedulerName: a}, {}]", "KP114", "3:32"),
        ("profils: []", "KP102", "3:1"),
        ("parallelism: 0", "KP113", "3:14"),
        (
            (
                "profiles: [{pluginConfig: [{name: InterPodAffinity, "
                "args: {hardPodAffinityWeight: 101}}]}]"
            ),
            "KP113",
            "3:83",
        ),
        (
            (
                "profiles: [{pluginConfig: [{name: NodeResourcesFit, "
                "args: {scoringStrategy: {resources: []}}}]}]"
            ),
            "KP114",
            "3:60",
        ),
        (
            "profiles: [{pluginConfig: [{name: NodeName, args: {kind: NodePortsArgs}}]}]",
            "KP103",
            "3:58",
        ),
        ("extenders: [{urlPrefix: http://x, prioritizeVerb: p}]", "KP113", "3:13"),
    ],
)
def test_what_kube_scheduler_refuses_is_a_finding_where_it_stands(
    text: str, code: str, at: str
) -> None:
    result = compile_policy(HEAD + text)
    assert result.program is None
    assert (code, at) in codes_and_places(result.diagnostics)


@pytest.mark.parametrize(
    ("plugin", "hint"),
    [
        ("Coscheduling", "parks pods of groups"),
        ("TargetLoadPacking", "cannot load Go"),
        ("OurOwnPlugin", "written in Go"),
        ("NodeResourceFit", "did you mean `NodeResourcesFit`?"),
    ],
)
def test_an_unknown_plugin_is_a_typing_error_or_one_in_go(plugin: str, hint: str) -> None:
    (finding,) = compile_policy(
        HEAD + f"profiles: [{{plugins: {{score: {{enabled: [{{name: {plugin}}}]}}}}}}]"
    ).diagnostics
    assert finding.code == "KP103"
    assert hint in finding.hint


def in_version(version: str, text: str = "") -> Compiled:
    return compile_policy(HEAD.replace("/v1", f"/{version}") + text)


@pytest.mark.parametrize("version", ["v1alpha1", "v1alpha2", "v1beta1"])
def test_a_version_that_is_not_read_is_refused_with_what_to_do(version: str) -> None:
    (finding,) = in_version(version, "algorithmSource: {provider: DefaultProvider}\n").diagnostics
    assert codes_and_places((finding,)) == [("KP606", "1:13")]
    assert version in finding.message
    assert finding.hint


@pytest.mark.parametrize("version", ["v1beta4", "v2", "", "v1beta22"])
def test_a_version_that_never_was_is_an_unknown_value(version: str) -> None:
    result = in_version(version)
    assert [finding.code for finding in result.diagnostics] == ["KP103"]
    assert "v1beta3" in result.diagnostics[0].message + result.diagnostics[0].hint


def test_v1beta3_says_what_v1_says() -> None:
    result = in_version("v1beta3")
    assert result.diagnostics == ()
    entry = profile(result, "default-scheduler")
    assert (names(entry["filters"]), weights(entry)) == (FILTERS, WEIGHTS)


def test_v1beta2_has_the_weights_it_had_and_says_so() -> None:
    result = in_version("v1beta2")
    entry = profile(result, "default-scheduler")
    assert names(entry["filters"]) == FILTERS
    expected = {"TaintToleration": 1, "NodeAffinity": 1, "InterPodAffinity": 1}
    assert weights(entry) == {**WEIGHTS, **expected}
    (finding,) = result.diagnostics
    assert (finding.code, finding.severity) == ("KP602", Severity.INFO)


def test_a_plugin_that_v1beta2_names_again_keeps_its_place() -> None:
    text = (
        "profiles:\n- plugins:\n    filter: {enabled: [{name: NodePorts}]}\n"
        "    score: {enabled: [{name: ImageLocality, weight: 9}], "
        "disabled: [{name: TaintToleration}]}\n"
    )
    entry = profile(in_version("v1beta2", text), "default-scheduler")
    assert names(entry["filters"]) == FILTERS
    left = {k: v for k, v in WEIGHTS.items() if k != "TaintToleration"}
    assert weights(entry) == {**left, "NodeAffinity": 1, "InterPodAffinity": 1, "ImageLocality": 9}
    assert names(entry["scores"])[-1] == "ImageLocality"


@pytest.mark.parametrize(
    ("version", "text"),
    [
        ("v1beta2", "profiles: [{plugins: {multiPoint: {}}}]"),
        ("v1beta2", "profiles: [{percentageOfNodesToScore: 10}]"),
        ("v1beta3", "profiles: [{percentageOfNodesToScore: 10}]"),
        ("v1beta3", "healthzBindAddress: 0.0.0.0:1"),
        ("v1", "metricsBindAddress: 0.0.0.0:1"),
    ],
)
def test_a_field_of_another_version_is_unknown(version: str, text: str) -> None:
    assert "KP102" in dict(codes_and_places(in_version(version, text).diagnostics))


@pytest.mark.parametrize(
    ("term", "message"),
    [
        ("{key: gen, operator: Gt, values: ['-3']}", "compares with a whole number"),
        ("{key: gen, operator: Lt, values: ['9223372036854775808']}", "compares with a whole"),
        ("{key: gen, operator: Gt, values: ['1', '2']}", "goes with one value"),
        ("{key: gen, operator: In}", "goes with some values"),
        ("{key: gen, operator: In, values: [x y]}", "`x y` cannot be the value of a label"),
        ("{key: a b, operator: Exists}", "`a b` cannot be the key of a label"),
        ("{key: A/b, operator: Exists}", "`A/b` cannot be the key of a label"),
    ],
)
def test_added_affinity_that_kube_scheduler_does_not_start_with_is_refused(
    term: str, message: str
) -> None:
    terms = f"nodeSelectorTerms: [{{matchExpressions: [{term}]}}]"
    required = f"requiredDuringSchedulingIgnoredDuringExecution: {{{terms}}}"
    args = f"{{addedAffinity: {{{required}}}}}"
    text = f"profiles: [{{pluginConfig: [{{name: NodeAffinity, args: {args}}}]}}]"
    (found,) = compile_policy(HEAD + text).diagnostics
    assert found.code == "KP115"
    assert message in found.message
    assert found.place is not None


def test_names_of_nodes_are_selected_one_by_one() -> None:
    field = "{key: metadata.name, operator: In, values: [n1, n2]}"
    preferred = f"[{{weight: 1, preference: {{matchFields: [{field}]}}}}]"
    args = f"{{addedAffinity: {{preferredDuringSchedulingIgnoredDuringExecution: {preferred}}}}}"
    text = f"profiles: [{{pluginConfig: [{{name: NodeAffinity, args: {args}}}]}}]"
    (found,) = compile_policy(HEAD + text).diagnostics
    assert found.code == "KP115"
    assert found.hint == "write a term for each name"


def test_a_rule_that_is_switched_off_for_nodes_only_is_reported() -> None:
    """kube-scheduler still rejects pods at `preFilter`."""
    head = "profiles:\n- plugins:\n    "
    off = "disabled: [{name: PodTopologySpread}, {name: VolumeBinding}]}\n"
    result = compile_policy(f"{HEAD}{head}filter: {{{off}")
    (found,) = result.diagnostics
    assert (found.code, found.severity) == ("KP604", Severity.WARNING)
    assert "still asks it at `preFilter`" in found.message
    assert found.place is not None
    place = HEAD.count("\n") + 3, 59
    assert (found.place.line, found.place.column) == place, "where VolumeBinding is disabled"
    assert "VolumeBinding" not in names(profile(result, "default-scheduler")["filters"])
    both = compile_policy(f"{HEAD}{head}filter: {{{off}    preFilter: {{{off}")
    assert both.diagnostics == ()
    (found, *others) = compile_policy(
        f"{HEAD}{head}filter: {{disabled: [{{name: '*'}}], enabled: [{{name: NodeAffinity}}]}}\n"
    ).diagnostics
    assert found.code == "KP604"
    assert len(others) == 3, "all that reject pods at preFilter but NodeAffinity"


@pytest.mark.parametrize("point", ["queueSort", "preFilter", "preScore", "preEnqueue", "reserve"])
def test_settings_without_effect_are_reported(point: str) -> None:
    result = compile_policy(HEAD + f"profiles: [{{plugins: {{{point}: {{enabled: []}}}}}}]")
    assert "KP604" in dict(codes_and_places(result.diagnostics))
    assert result.program is not None
