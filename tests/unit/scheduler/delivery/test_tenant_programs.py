"""Policies of fifty tenants in one program, one of them hostile: what each changes, for whom."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from kpolicy.engine import Engine
from kpolicy.policy.compile import compile_policy
from kpolicy.policy.tenants.outcome import IN_FORCE, LAST_GOOD, REFUSED, TenantOutcome
from kpolicy.policy.tenants.tenant_checks import TenantTerms
from kpolicy.policy.yaml.source import Source, Tenant
from kpolicy.scheduler.delivery.last_good import LastGood, decoded, encoded
from kpolicy.scheduler.delivery.tenant_programs import TenantPrograms
from tests.unit.scheduler.world import policy

TENANTS = 50
OPERATOR = policy()

RULES = """
apiVersion: kpolicy.dev/v1alpha1
kind: SchedulingPolicy
metadata: {{name: ours}}
spec:
  predicates:
    - {{name: ours, expression: "{expression}"}}
"""


def wants(label: str) -> str:
    return RULES.format(expression=f"label(node, 'pool') == '{label}'")


def of(tenant: str, text: str, namespaces: Sequence[str] = ()) -> Source:
    place = f"configmap/{tenant}/kpolicy-tenant/policy.yaml"
    return Source(place, text, tenant=Tenant(tenant, tuple(namespaces or (tenant,))))


def fifty(hostile: str) -> list[Source]:
    good = [of(f"team-{number:02}", wants(f"pool-{number:02}")) for number in range(1, TENANTS)]
    return [OPERATOR, of("team-00", hostile), *good]


def programs(weight: int = 10) -> TenantPrograms:
    return TenantPrograms(compile_policy, TenantTerms(weight))


def outcome_of(outcomes: Sequence[TenantOutcome], name: str) -> TenantOutcome:
    (found,) = [outcome for outcome in outcomes if outcome.tenant.name == name]
    return found


HOSTILE = {
    "no YAML": "spec: [",
    "another kind": '{"kind": "Policy", "apiVersion": "v1"}',
    "nothing": "",
    "no base of its own": wants("a") + "  preemption: {policy: Never}\n",
    "extenders": wants("a") + "  extenders: [{urlPrefix: 'http://10.0.0.1:80'}]\n",
    "pods of another scheduler": wants("a") + "  profiles: [{schedulerName: default-scheduler}]\n",
    "a built-in predicate": wants("a").replace("name: ours, expression", "builtin: NodeName, x"),
    "an error of type": RULES.format(expression="1"),
    "too costly": RULES.format(
        expression="lists.range(4000).all(x, lists.range(4000).all(y, x + y >= 0))"
    ),
    "too large": wants("a") + "#" * 70_000,
    "heavy": wants("a")
    + "  priorities: [{name: heavy, weight: 11, expression: 'node.pods.size()'}]\n",
    "aliases": "a: &a [x, x]\nb: &b [*a, *a]\nc: &c [*b, *b]\nd: [*c, *c]\n" * 50,
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE.keys())
def test_a_bad_policy_of_one_tenant_changes_nothing_for_others(text: str) -> None:
    compiled = programs()(fifty(text))
    assert compiled.program is not None
    assert len(compiled.tenants) == TENANTS
    bad = outcome_of(compiled.tenants, "team-00")
    assert (bad.state, bad.in_force) == (REFUSED, ())
    assert bad.why
    assert [each.state for each in compiled.tenants if each != bad] == [IN_FORCE] * (TENANTS - 1)
    without = programs()([source for source in fifty(text) if source.tenant != bad.tenant])
    assert compiled.program == without.program
    assert not Engine(0, threads=1).load(compiled.program.bytes)


def test_the_last_good_policy_of_a_tenant_stays_in_force() -> None:
    compile_all = programs()
    before = compile_all(fifty(wants("mine")))
    after = compile_all(fifty("spec: ["))
    assert before.program == after.program
    bad = outcome_of(after.tenants, "team-00")
    assert bad.state == LAST_GOOD
    assert bad.in_force == outcome_of(before.tenants, "team-00").in_force
    assert bad.diagnostics


def test_another_process_goes_on_with_what_was_last_good() -> None:
    first = programs()(fifty(wants("mine")))
    in_force = tuple(source for each in first.tenants for source in each.in_force)
    packed = encoded(LastGood("sha256:1", (OPERATOR, *in_force), 7))
    assert isinstance(packed, bytes)
    kept = decoded(packed, "a test")
    assert isinstance(kept, LastGood)
    second = programs()
    second.remember(kept.sources)
    compiled = second(fifty("spec: ["))
    assert compiled.program == first.program


def test_a_tenant_that_is_gone_leaves_nothing_behind() -> None:
    compile_all = programs()
    compile_all(fifty(wants("mine")))
    gone = compile_all(
        [source for source in fifty("") if source.tenant != Tenant("team-00", ("team-00",))]
    )
    assert len(gone.tenants) == TENANTS - 1
    back = compile_all(fifty("spec: ["))
    assert outcome_of(back.tenants, "team-00").state == REFUSED


def test_an_error_of_the_operator_is_the_operators() -> None:
    bad = replace(OPERATOR, text="spec: [")
    compiled = programs()([bad, *fifty(wants("a"))[1:]])
    assert compiled.program is None
    assert {each.place.file for each in compiled.diagnostics if each.place} == {"policy.yaml"}
