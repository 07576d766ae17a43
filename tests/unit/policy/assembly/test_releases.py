"""The release and the feature gates of a program: who says them, and what is said about them."""

from __future__ import annotations

import json

import pytest

from build.next_release import known_source
from kpolicy import compile_policy
from kpolicy.policy.compile import Compiled
from kpolicy.policy.models.builtins import BUILTINS
from kpolicy.release_table import FEATURE_GATES, RELEASES
from tests.unit.policy.policies import policy

SHAPE = (
    "priorities:\n  - builtin: VolumeBinding\n    weight: 1\n"
    "    args: {shape: [{utilization: 0, score: 0}, {utilization: 100, score: 10}]}\n"
)


def stating(text: str, name: str = "p") -> str:
    return policy(f"compatibility: {text}", name)


def release_of(compiled: Compiled) -> str:
    assert compiled.program is not None, compiled.diagnostics
    assert json.loads(compiled.program.bytes)["release"] == compiled.program.followed.release
    return compiled.program.followed.release


def messages(compiled: Compiled, code: str) -> list[str]:
    return [found.message for found in compiled.diagnostics if found.code == code]


@pytest.mark.parametrize(
    ("stated", "asked", "cluster", "wanted"),
    [
        ("", "", "", "1.37"),
        ("", "", "v1.35.4", "1.35"),
        ("", "auto", "v1.35.4-gke.100", "1.35"),
        ("1.34", "", "v1.35.4", "1.34"),
        ("1.34", "auto", "v1.35.4", "1.35"),
        ("auto", "", "v1.36.2+k3s1", "1.36"),
        ("1.34", "1.36", "v1.35.4", "1.36"),
        ("v1.35.2", "", "", "1.35"),
        # A legacy release says how names are read, and not how to decide.
        ("1.16", "", "v1.34.0", "1.34"),
        ("1.34", "1.16", "v1.36.0", "1.34"),
    ],
)
def test_the_caller_counts_before_the_policy_and_that_before_the_cluster(
    stated: str, asked: str, cluster: str, wanted: str
) -> None:
    text = stating(f'{{release: "{stated}"}}') if stated else policy("")
    compiled = compile_policy(text, release=asked, cluster_version=cluster)
    assert release_of(compiled) == wanted
    assert messages(compiled, "KP609") == []


@pytest.mark.parametrize("version", ["v1.99.0", "v2.0.1", "1.38"])
def test_an_unknown_newer_release_gets_the_newest_and_says_so(version: str) -> None:
    newest = f"kpolicy does not follow Kubernetes {version}; it decides as {RELEASES[-1]} does"
    live = compile_policy(policy(""), cluster_version=version)
    asked = compile_policy(policy(""), release=version)
    written = compile_policy(stating(f'{{release: "{version}"}}'))
    for compiled in (live, asked, written):
        assert release_of(compiled) == RELEASES[-1]
        assert messages(compiled, "KP609") == [newest]
    [found] = written.diagnostics
    assert found.place is not None


def test_a_release_that_is_not_followed_any_more_gets_the_oldest() -> None:
    compiled = compile_policy(policy(""), cluster_version="v1.30.2")
    assert release_of(compiled) == RELEASES[0]
    assert messages(compiled, "KP609") != []


def test_policies_of_one_program_have_one_release() -> None:
    both = [stating('{release: "1.36"}'), stating('{release: "1.37"}', "q")]
    assert messages(compile_policy(both), "KP116") == ["`p` asks for the decisions of 1.36"]


def test_the_hash_of_a_policy_is_the_same_in_all_clusters_unless_it_asks_for_a_release() -> None:
    def hashed(text: str, cluster: str, **more: object) -> str:
        program = compile_policy(text, cluster_version=cluster, **more).program  # type: ignore[arg-type]
        assert program is not None
        return program.hash

    plain, pinned = policy(""), stating('{release: "1.36"}')
    assert hashed(plain, "v1.36.0") == hashed(plain, "v1.37.0")
    assert hashed(pinned, "") not in (hashed(plain, ""), hashed(stating('{release: "1.37"}'), ""))
    gates = {"TaintTolerationComparisonOperators": True}
    assert hashed(plain, "", feature_gates=gates) != hashed(plain, "")


@pytest.mark.parametrize(
    ("gate", "release", "message"),
    [
        ("NoSuchGate=true", "1.36", "kube-scheduler 1.36 has no feature gate `NoSuchGate`"),
        ("AllAlpha=true", "1.36", "`AllAlpha` sets many gates at once"),
        ("AllBeta=false", "1.37", "`AllBeta` sets many gates at once"),
        ("VolumeLimitScaling=true", "1.34", "kube-scheduler 1.34 has no feature gate"),
        ("NodeDeclaredFeatures=false", "1.37", "`NodeDeclaredFeatures` is always on in 1.37"),
        ("GenericWorkload=true", "1.36", "kpolicy does not honour the feature gate"),
        ("GenericWorkload=false", "1.36", ""),
        ("NodeDeclaredFeatures=false", "1.36", ""),
        ("TaintTolerationComparisonOperators=true", "1.35", ""),
    ],
)
def test_a_gate_is_honoured_or_refused_by_name(gate: str, release: str, message: str) -> None:
    name, _, value = gate.partition("=")
    by_flag = compile_policy(policy(""), release=release, feature_gates={name: value == "true"})
    written = compile_policy(
        stating(f'{{release: "{release}", featureGates: {{{name}: {value}}}}}')
    )
    for compiled in (by_flag, written):
        assert (compiled.program is None) == bool(message)
        assert [message in found for found in messages(compiled, "KP610")] == [True] * bool(message)
    assert all(found.place is not None for found in written.diagnostics)


def test_the_flag_counts_before_the_policy() -> None:
    text = stating("{featureGates: {GenericWorkload: true, StorageCapacityScoring: false}}")
    compiled = compile_policy(text, feature_gates={"GenericWorkload": False})
    assert compiled.program is not None
    gates = {"GenericWorkload": False, "StorageCapacityScoring": False}
    assert compiled.program.followed.gates == gates


def test_a_configuration_of_kube_scheduler_may_have_gates() -> None:
    text = (
        "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
        "featureGates: {TaintTolerationComparisonOperators: true}\n"
    )
    compiled = compile_policy(text, release="1.36")
    assert compiled.program is not None, compiled.diagnostics
    assert compiled.program.followed.gates == {"TaintTolerationComparisonOperators": True}
    [found] = compile_policy(text, release="1.34").diagnostics
    assert (found.code, found.place is not None) == ("KP610", True)


def test_a_shape_of_volume_binding_needs_its_gate() -> None:
    assert compile_policy(policy(SHAPE)).program is not None
    [found] = compile_policy(policy(SHAPE), release="1.36").diagnostics
    assert (found.code, "StorageCapacityScoring" in found.message) == ("KP115", True)
    gates = {"StorageCapacityScoring": True}
    assert compile_policy(policy(SHAPE), release="1.36", feature_gates=gates).program is not None


def test_an_empty_shape_of_volume_binding_is_the_default_where_its_gate_is_on() -> None:
    empty = SHAPE[: SHAPE.index("{shape")] + "{shape: []}\n"
    without = SHAPE[: SHAPE.index("{shape")] + "{}\n"
    program, same = (compile_policy(policy(text)).program for text in (empty, without))
    assert program is not None
    assert same is not None
    assert program.hash == same.hash
    [found] = compile_policy(policy(empty), release="1.36").diagnostics
    assert (found.code, "StorageCapacityScoring" in found.message) == ("KP115", True)


def test_a_time_for_binding_devices_needs_its_gate() -> None:
    text = "priorities:\n  - builtin: DynamicResources\n    weight: 1\n"
    text += "    args: {bindingTimeout: 20s}\n"
    assert compile_policy(policy(text), release="1.36").program is not None
    [found] = compile_policy(policy(text), release="1.35").diagnostics
    assert (found.code, "DRADeviceBindingConditions" in found.message) == ("KP115", True)
    gates = {"DRADeviceBindingConditions": True}
    assert compile_policy(policy(text), release="1.35", feature_gates=gates).program is not None
    gates["DRAResourceClaimDeviceStatus"] = False
    [found] = compile_policy(policy(text), release="1.35", feature_gates=gates).diagnostics
    assert (found.code, "DRAResourceClaimDeviceStatus" in found.message) == ("KP115", True)
    assert "follow" not in found.hint, "somebody turned it off"


@pytest.mark.parametrize(
    ("args", "code"),
    [
        ("{bindingTimeout: soon}", "KP113"),
        ("{bindingTimeout: 1d}", "KP113"),
        ("{bindingTimeout: 0s}", "KP115"),
        ("{bindingTimeout: 999ms}", "KP115"),
        ("{filterTimeout: -1s}", "KP113"),
        ("{bindingTimeout: 1.5h, filterTimeout: 0s}", ""),
    ],
)
def test_times_of_devices_are_durations_as_kube_scheduler_takes_them(args: str, code: str) -> None:
    text = f"priorities:\n  - builtin: DynamicResources\n    weight: 1\n    args: {args}\n"
    found = compile_policy(policy(text)).diagnostics
    assert [each.code for each in found] == ([code] if code else [])


def test_the_newest_release_is_as_its_source_has_it() -> None:
    """What `python -m build.next_release` read of the newest release agrees with the tables."""
    known = known_source()
    assert known.release == RELEASES[-1]
    here = {name: stages[-1] for name, stages, _ in FEATURE_GATES}
    assert len(known.gates) > 30
    assert {name: here.get(name) for name in known.gates} == known.gates
    weights = {
        built_in.name: built_in.weight for built_in in BUILTINS.values() if built_in.is_default
    }
    # A plugin without a weight has the weight 1 if it scores.
    stated = {
        name: weight or int(BUILTINS[name].scores)
        for name, weight in known.plugins.items()
        if name in BUILTINS
    }
    assert stated == weights
