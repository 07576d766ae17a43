"""KP325 and KP126: what a policy ignores, and rules of the base that are written again."""

from __future__ import annotations

import json

import pytest

from kpolicy.policy.compile import compile_policy
from kpolicy.policy.format.fixes import fixed
from kpolicy.policy.lint.ignored_fields import FIELDS
from kpolicy.policy.models.builtins import BUILTINS
from kpolicy.policy.yaml.source import Source
from tests.unit.policy.policies import policy, profile

OLD = """\
predicates:
  - builtin: TaintToleration
  - {name: a, expression: node.ready}
"""


def messages(*texts: str, code: str = "KP325") -> list[str]:
    found = compile_policy(list(texts)).diagnostics
    return [finding.message for finding in found if finding.code == code]


def test_every_predicate_of_the_default_profile_keeps_to_something() -> None:
    default = {rule["builtin"] for rule in profile(compile_policy())["filters"]}
    assert set(FIELDS) == default - {"NodeName"}
    assert set(FIELDS) <= set(BUILTINS)


@pytest.mark.parametrize("builtin", FIELDS)
def test_a_built_in_that_is_removed_is_named_with_what_is_ignored(builtin: str) -> None:
    removed = policy(f"predicates: [{{builtin: {builtin}, enabled: false}}]", base="")
    assert messages(removed) == [f"without `{builtin}` this is ignored: {FIELDS[builtin].name}"]


def test_another_policy_of_the_profile_may_keep_to_it() -> None:
    removed = policy("predicates: [{builtin: NodeAffinity, enabled: false}]", "a", base="")
    nothing = policy("", "b").replace("  # kpolicy: ignore[KP325]", "")
    assert len(messages(removed)) == len(messages(nothing)) == 1
    assert messages(removed, policy("", "c", base="")) == []
    assert messages(nothing, policy("", "c", base="")) == []


def test_an_expression_that_reads_the_field_keeps_to_it() -> None:
    spec = (
        "predicates:\n  - {builtin: NodeAffinity, enabled: false}\n  - name: own\n    expression: "
    )
    read = "pod.nodeSelector.all(k, label(node, k) == pod.nodeSelector[k])"
    assert messages(policy(f"{spec}{read}", base="")) == []
    assert messages(policy(f"{spec}node.ready", base="")) != []
    audited = f"{spec}{read}\n    enforcement: audit"
    assert messages(policy(audited, base="")) != []


def test_the_file_of_a_kube_scheduler_keeps_its_own_meaning() -> None:
    configuration = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [{"plugins": {"multiPoint": {"disabled": [{"name": "NodeAffinity"}]}}}],
    }
    compiled = compile_policy(json.dumps(configuration))
    assert compiled.diagnostics == ()
    entry = profile(compiled, "default-scheduler")
    assert "NodeAffinity" not in {rule["builtin"] for rule in entry["filters"]}


IN_A_CONFIG_MAP = (
    "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: m}\ndata:\n  p.yaml: |\n"
    + "".join(f"    {line}\n" for line in policy(OLD, base="").splitlines())
)
IN_JSON = json.dumps(
    {
        "apiVersion": "kpolicy.dev/v1alpha1",
        "kind": "SchedulingPolicy",
        "metadata": {"name": "p"},
        "spec": {
            "profiles": [{"schedulerName": "kpolicy"}],
            "predicates": [
                {"builtin": "TaintToleration"},
                {"name": "a", "expression": "node.ready"},
            ],
        },
    },
    indent=1,
)


@pytest.mark.parametrize("text", [policy(OLD, base=""), IN_A_CONFIG_MAP, IN_JSON])
@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
def test_the_fix_gives_a_document_the_meaning_that_it_had(text: str, line_end: str) -> None:
    written = Source("p", text.replace("\n", line_end))
    assert [f.code for f in compile_policy([written]).diagnostics] == ["KP126"]
    done = fixed([written], compile_policy)
    assert [finding.code for finding in done.findings] == ["KP126"]
    assert profile(done.compiled)["scores"] == []
    filters = profile(done.compiled)["filters"]
    assert [rule["name"] for rule in filters] == ["TaintToleration", "a"]
    assert [finding.code for finding in done.compiled.diagnostics] == ["KP325"]
    assert done.sources[0].decoded.count("\n") == done.sources[0].decoded.count(line_end)


@pytest.mark.parametrize(
    "rule",
    [
        "predicates: [{builtin: NodeResourcesFit, args: {ignoredResources: [example.com/a]}}]",
        "priorities: [{builtin: ImageLocality, weight: 3}]",
        "predicates: [{builtin: NodePorts, name: ports}]",
        "matchConditions: [{name: m, expression: 'true'}]\npredicates: [{builtin: NodePorts}]",
        "base: kube-scheduler-default\npredicates: [{builtin: NodePorts}]",
    ],
)
def test_a_rule_that_changes_the_base_is_not_written_again(rule: str) -> None:
    assert messages(policy(rule, base=""), code="KP126") == []
