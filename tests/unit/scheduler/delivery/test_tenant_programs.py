"""Policies of fifty tenants in one program, one of them hostile: what each changes, for whom."""

from __future__ import annotations

import json
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
from kpolicy.testing.builders import node, pod
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


# Policies that compile and are a burden: each would be felt by others if anything were shared.
BURDENS = {
    "rejects all": wants("nowhere"),
    "as heavy as allowed": wants("pool")
    + "  priorities: [{name: heavy, weight: 10, expression: 'node.podCount * 100'}]\n",
    "as costly as allowed": RULES.format(expression="lists.range(900).all(x, x >= 0)"),
    "an error on every node": RULES.format(expression="1 / node.podCount > 0"),
    "names of the operator": wants("pool").replace("ours", "NodeResourcesFit"),
}
NODES, PODS_EACH, NEIGHBOURS = 12, 3, 10


def placed(sources: Sequence[Source]) -> dict[str, str]:
    """Where the pods of the neighbours go."""
    compiled = programs()(sources)
    assert compiled.program is not None
    engine = Engine(0, threads=1)
    assert engine.load(compiled.program.bytes) == []
    items = [node(f"n{at:02}", labels={"pool": f"pool-{at % 6 + 1:02}"}) for at in range(NODES)]
    spaces = ["team-00", *(f"team-{at + 1:02}" for at in range(NEIGHBOURS))]
    for space in spaces:
        items += [pod(f"p{at}", namespace=space, cpu="1") for at in range(PODS_EACH)]
    for item in items:
        item["metadata"]["uid"] = (
            f"{item['metadata'].get('namespace', '')}/{item['metadata']['name']}"
        )
    listed = {"apiVersion": "v1", "kind": "List", "items": items}
    assert engine.load_objects(json.dumps(listed).encode(), "tenants.json") == []
    # In one call: the pods of the burden come last, so that they take no room.
    wanted = [f"{space}/p{at}" for space in spaces[1:] for at in range(PODS_EACH)]
    asked = [f"team-00/p{at}" for at in range(PODS_EACH)]
    decided = engine.schedule([*wanted, *asked], 0).decisions
    assert len(decided) == len(wanted) + len(asked)
    return {uid: each.node for uid, each in zip(wanted, decided, strict=False)}


@pytest.mark.parametrize("text", BURDENS.values(), ids=BURDENS.keys())
def test_a_burden_of_one_tenant_moves_no_pod_of_others(text: str) -> None:
    alone = placed(fifty("")[:1] + fifty("")[2:])
    beside = placed(fifty(text))
    assert outcome_of(programs()(fifty(text)).tenants, "team-00").state == IN_FORCE
    assert beside == alone
    assert len(alone) == NEIGHBOURS * PODS_EACH
    assert sum(bool(node) for node in alone.values()) >= 6 * PODS_EACH
