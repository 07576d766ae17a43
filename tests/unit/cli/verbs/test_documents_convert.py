"""`kpolicy convert`: readable text with what was chosen, and refusals."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kpolicy import Source, compile_policy, convert_policy
from kpolicy.cli import main

Capture = pytest.CaptureFixture[str]

POLICY = {
    "kind": "Policy",
    "apiVersion": "v1",
    "predicates": [
        {"name": "GeneralPredicates"},
        {"name": "CheckNodeDiskPressure"},
        {"name": "Zones", "argument": {"serviceAffinity": {"labels": ["zone"]}}},
        {
            "name": "Region",
            "argument": {"labelsPresence": {"labels": ["region"], "presence": True}},
        },
    ],
    "priorities": [
        {"name": "BalancedResourceAllocation", "weight": 1},
        {
            "name": "SSD",
            "weight": 3,
            "argument": {"labelPreference": {"label": "ssd", "presence": True}},
        },
    ],
    "extenders": [
        {
            "urlPrefix": "http://127.0.0.1:12346/scheduler",
            "filterVerb": "filter",
            "prioritizeVerb": "prioritize",
            "weight": 5,
            "enableHttps": False,
            "httpTimeout": 1500000000,
        },
    ],
    "hardPodAffinitySymmetricWeight": 10,
}
CONVERTED = """\
apiVersion: kpolicy.dev/v1alpha1
kind: SchedulingPolicy
metadata:
  name: from-scheduler-json
  annotations:
    kpolicy.dev/converted-from: Policy/v1
    kpolicy.dev/legacy-release: "1.9"
spec:
"""


def converted(capsys: Capture, tmp_path: Path, data: Any, *flags: str) -> tuple[int, str, str]:
    path = tmp_path / "scheduler.json"
    path.write_text(data if isinstance(data, str) else json.dumps(data))
    code = main(["convert", str(path), *flags])
    captured = capsys.readouterr()
    return code, captured.out.replace(f"{tmp_path}/", ""), captured.err


def test_a_legacy_policy_reads_as_if_a_person_had_written_it(
    tmp_path: Path, capsys: Capture
) -> None:
    code, text, messages = converted(capsys, tmp_path, POLICY, "--release", "1.9")
    assert code == 0
    head, _, body = text.partition("apiVersion")
    assert head.startswith("# Converted by `kpolicy convert` from")
    assert "read as release 1.9 did" in head.replace("\n# ", " ")
    assert f"apiVersion{body}".startswith(CONVERTED)
    expected = (
        "    # KP602: releases since 1.12 refuse `CheckNodeDiskPressure`;",
        "    - urlPrefix: http://127.0.0.1:12346/scheduler\n      filterVerb: filter\n",
        "      prioritizeVerb: prioritize\n      weight: 5\n      httpTimeout: 1.5s\n",
        "  interPodAffinity:\n    hardPodAffinityWeight: 10\n",
        "    - {builtin: NodeResourcesBalancedAllocation, weight: 1}\n",
    )
    assert [part for part in expected if part not in text] == []
    assert all(part in text for part in ("affinityLabels:", "zone", "weight: 3"))
    assert not any(word in text for word in ("enableHTTPS", "evaluateAll", "preemption", "null"))
    assert "KP602" in messages


def test_what_is_printed_compiles_without_errors_and_is_laid_out(
    tmp_path: Path, capsys: Capture
) -> None:
    _, text, _ = converted(capsys, tmp_path, POLICY)
    compiled = compile_policy(Source("made.yaml", text))
    assert compiled.program is not None
    assert compiled.program.scheduler_names == ("default-scheduler",)


def test_several_profiles_become_several_documents(tmp_path: Path, capsys: Capture) -> None:
    configuration = """\
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
parallelism: 8
profiles:
  - schedulerName: one
  - schedulerName: two
    plugins:
      score: {disabled: [{name: "*"}], enabled: [{name: ImageLocality, weight: 7}]}
"""
    code, text, _ = converted(capsys, tmp_path, configuration)
    assert (code, text.count("\n---\n")) == (0, 1)
    # What is about the whole file is said once.
    assert text.count("# KP604: ") == 1
    program = compile_policy(text).program
    assert program is not None
    assert program.scheduler_names == ("one", "two")
    assert text.rstrip().endswith("priorities:\n    - {builtin: ImageLocality, weight: 7}")


@pytest.mark.parametrize(
    ("data", "code", "message"),
    [
        ({**POLICY, "priorities": [{"name": "Own", "weight": 1}]}, "KP103", "priority `Own`"),
        (
            {**POLICY, "predicates": [{"name": "Zone", "argument": {"serviceAffinity": {}}}]},
            "KP603",
            "needs `labels`",
        ),
        (
            {
                "apiVersion": "kubescheduler.config.k8s.io/v1",
                "kind": "KubeSchedulerConfiguration",
                "profiles": [{"plugins": {"filter": {"enabled": [{"name": "Coscheduling"}]}}}],
            },
            "KP103",
            "`Coscheduling` is a plugin of kubernetes-sigs/scheduler-plugins",
        ),
        (
            {
                "apiVersion": "kpolicy.dev/v1alpha1",
                "kind": "SchedulingPolicy",
                "metadata": {"name": "a"},
                "spec": {"profiles": [{"schedulerName": "a"}]},
            },
            "KP605",
            "a SchedulingPolicy already",
        ),
        ("{", "KP101", ""),
    ],
)
def test_what_cannot_be_expressed_is_refused(
    data: Any, code: str, message: str, tmp_path: Path, capsys: Capture
) -> None:
    exit_code, text, messages = converted(capsys, tmp_path, data)
    assert (exit_code, text) == (1, "")
    assert f"error[{code}]" in messages
    assert message in messages


def test_the_function_is_public_and_pure() -> None:
    made = convert_policy(json.dumps(POLICY))
    assert made.text is not None
    assert made == convert_policy(json.dumps(POLICY))
    assert convert_policy("a: 1").text is None


TWO_PROFILES = """\
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
  - schedulerName: one
  - schedulerName: two
extenders:
  - urlPrefix: http://ext.svc:80/x
    filterVerb: filter
    bindVerb: bind
    managedResources: [{name: example.com/gpu, ignoredByScheduler: true}]
"""


def test_two_profiles_may_share_an_extender_that_binds_and_manages(
    tmp_path: Path, capsys: Capture
) -> None:
    code, text, messages = converted(capsys, tmp_path, TWO_PROFILES)
    assert (code, messages) == (0, "")
    program, original = compile_policy(text).program, compile_policy(TWO_PROFILES).program
    assert program is not None
    assert original is not None
    assert program.hash == original.hash
    assert [len(profile.extenders) for profile in program.profiles] == [1, 1]


POLICY_WITH_RULES = """\
apiVersion: kpolicy.dev/v1alpha1
kind: SchedulingPolicy
metadata: {name: mine}
spec:
  profiles: [{schedulerName: mine}]
  tieBreak: name
  predicates:
    - {name: no-spot, expression: "node.labels[?'spot'].orValue('') != 'true'"}
    - {builtin: NodePorts, enabled: false}
    - {builtin: NodeLabel, args: {presentLabels: [disk]}}
  priorities:
    - {builtin: NodeResourcesFit, weight: 5, args: {strategy: MostAllocated}}
    - {builtin: NodeResourcesFit, name: again}
    - {builtin: TaintToleration, enabled: false}
  preemption: {policy: Never, order: [fewestVictims], freesDevices: true}
  extenders: [{urlPrefix: "https://ext.svc:443/x", filterVerb: filter, enableHTTPS: true}]
"""
WRITTEN = """\
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
percentageOfNodesToScore: 100
profiles:
  - schedulerName: mine
    plugins:
      multiPoint:
        enabled:
          - {name: NodeResourcesFit, weight: 5}
        disabled:
          - name: NodePorts
          - name: DefaultPreemption
      preScore:
        disabled:
          - name: TaintToleration
      score:
        disabled:
          - name: TaintToleration
    pluginConfig:
      - name: NodeResourcesFit
        args:
          scoringStrategy:
            type: MostAllocated
"""


def test_a_policy_becomes_a_configuration_and_what_cannot_be_said_is_named(
    tmp_path: Path, capsys: Capture
) -> None:
    code, text, messages = converted(capsys, tmp_path, POLICY_WITH_RULES, "--to", "kube-scheduler")
    assert code == 1
    head, _, body = text.partition("apiVersion")
    assert f"apiVersion{body}" == WRITTEN
    comments = head.replace("\n# ", " ")
    for what in (
        "the predicate `no-spot` is an expression, which kube-scheduler does not have",
        "the predicate `NodeLabel` is the built-in `NodeLabel`, which kube-scheduler does",
        "the priority `again` is `NodeResourcesFit` a second time",
        "ties are broken by `name`; kube-scheduler chooses at random",
        "`preemption.order`",
        "`preemption.freesDevices`",
        "the extender https://ext.svc:443/x is verified against the system's authorities",
    ):
        assert what in comments
        assert what in messages
    assert messages.count("warning[KP608]") == comments.count("KP608:") == 7
    # Each finding but that of an extender has its line.
    assert "scheduler.json:8:" in messages


def test_what_is_said_of_the_queue_and_of_devices_is_not_dropped_silently(
    tmp_path: Path, capsys: Capture
) -> None:
    policy = """\
apiVersion: kpolicy.dev/v1alpha1
kind: SchedulingPolicy
metadata: {name: mine}
spec:
  profiles: [{schedulerName: mine}]
  queue:
    order: {expression: tenant.share}
    holds: [{name: cap, when: tenant.pods > 9}]
    podMaxBackoff: 20
    flushAfter: 60
  devices: {score: [{name: few, expression: allocation.size}]}
"""
    code, _, messages = converted(capsys, tmp_path, policy, "--to", "kube-scheduler")
    assert code == 1
    assert messages.count("warning[KP608]") == 5
    for what in ("queue.order", "queue.holds", "queue.flushAfter", "devices.score"):
        assert f"`{what}`" in messages
    assert "write `podMaxBackoffSeconds: 20`" in messages


def test_what_can_be_said_is_written_without_findings(capsys: Capture) -> None:
    assert main(["convert", "--to", "kube-scheduler", "kube-scheduler-default"]) == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    assert captured.out.endswith("profiles:\n  - schedulerName: kpolicy\n")


POLICY_FOR_AUTOSCALERS = """\
apiVersion: kpolicy.dev/v1alpha1
kind: SchedulingPolicy
metadata: {name: shop}
spec:
  profiles:
    - {schedulerName: kpolicy}
    - {schedulerName: equal}
    - schedulerName: other
      overrides: {predicates: [{name: NodePorts, enabled: false}]}
  predicates:
    - {name: NodeName, enabled: false}
    - {builtin: NodeResourcesFit, args: {ignoredResources: [example.com/x]}}
    - {name: pool, expression: "label(node, 'pool') == label(pod, 'pool')"}
    - {name: crowded, expression: node.podCount < 9}
    - {name: watched, expression: node.podCount < 8, enforcement: audit}
  priorities:
    - {name: ImageLocality, enabled: false}
  extenders:
    - {urlPrefix: 'http://127.0.0.1:8001/x', filterVerb: filter}
"""
SIMULATED = """\
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
  - schedulerName: kpolicy
    plugins:
      multiPoint:
        disabled:
          - name: NodeName
    pluginConfig:
      - name: NodeResourcesFit
        args:
          ignoredResources: [example.com/x]
"""


def test_cluster_autoscaler_gets_the_filters_and_what_it_cannot_have_is_named(
    tmp_path: Path, capsys: Capture
) -> None:
    code, text, messages = converted(
        capsys, tmp_path, POLICY_FOR_AUTOSCALERS, "--to", "cluster-autoscaler"
    )
    assert code == 1
    head, _, body = text.partition("apiVersion")
    assert f"apiVersion{body}" == SIMULATED
    for what in (
        "the predicate `pool` is an expression, which cluster-autoscaler does not have",
        "the predicate `crowded` is an expression",
        "the extender http://127.0.0.1:8001/x: cluster-autoscaler asks none",
        "the profile `other`: cluster-autoscaler has one for all pods",
    ):
        assert what in head.replace("\n# ", " ")
        assert what in messages
    assert messages.count("warning[KP608]") == 4


def test_rules_become_admission_policies_for_the_pods_of_their_profiles(
    tmp_path: Path, capsys: Capture
) -> None:
    code, text, messages = converted(
        capsys, tmp_path, POLICY_FOR_AUTOSCALERS, "--to", "admission-policy", "--templates"
    )
    assert code == 1
    assert messages.count("warning[KP608]") == 1
    assert "left out: the predicate `crowded`: it reads `node.podCount`" in messages
    documents = text.split("---\n")
    for suffix, policy, binding in zip(
        ("pods", "jobs", "daemonsets"), documents[::2], documents[1::2], strict=True
    ):
        assert "kind: MutatingAdmissionPolicy\n" in policy
        assert "kind: MutatingAdmissionPolicyBinding\n" in binding
        assert f"policyName: kpolicy-shop-pool-{suffix}" in binding
        assert f"resources: [{suffix}]" in policy
        assert "spec.schedulerName in ['equal', 'kpolicy', 'other']" in policy


def test_templates_are_for_admission_policies_only(tmp_path: Path, capsys: Capture) -> None:
    code, _, messages = converted(capsys, tmp_path, POLICY_FOR_AUTOSCALERS, "--templates")
    assert code == 2
    assert "--templates goes with --to admission-policy" in messages
