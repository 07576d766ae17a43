"""Policies of fifty tenants in one program, one of them hostile: what each changes, for whom."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given, settings, strategies as st

from kpolicy.engine import Engine
from kpolicy.policy.assembly.assemble import Program
from kpolicy.policy.compile import Compiled, compile_policy
from kpolicy.policy.tenants import composition
from kpolicy.policy.tenants.outcome import IN_FORCE, LAST_GOOD, REFUSED, TenantOutcome
from kpolicy.policy.tenants.tenant_checks import TenantTerms
from kpolicy.policy.yaml.source import Source, Tenant
from kpolicy.scheduler.delivery.last_good import LastGood, decoded, encoded
from kpolicy.scheduler.delivery.tenant_programs import TenantPrograms
from kpolicy.telemetry.limits import TENANTS_NAMED_MAX
from kpolicy.telemetry.scheduler_metrics import SchedulerMetrics
from kpolicy.testing.builders import node, pod
from tests.manual_clock import ManualClock
from tests.unit.scheduler.runtimes import runtime_of
from tests.unit.scheduler.world import policy
from tests.unit.telemetry.exposition import parsed

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


def cluster(program: Program, spaces: Sequence[str]) -> Engine:
    """Twelve nodes, and pods in each of these namespaces, whose uids are NAMESPACE/NAME."""
    engine = Engine(0, threads=1)
    assert engine.load(program.bytes) == []
    items = [node(f"n{at:02}", labels={"pool": f"pool-{at % 6 + 1:02}"}) for at in range(NODES)]
    for space in spaces:
        items += [pod(f"p{at}", namespace=space, cpu="1") for at in range(PODS_EACH)]
    for item in items:
        item["metadata"]["uid"] = (
            f"{item['metadata'].get('namespace', '')}/{item['metadata']['name']}"
        )
    listed = {"apiVersion": "v1", "kind": "List", "items": items}
    assert engine.load_objects(json.dumps(listed).encode(), "tenants.json") == []
    return engine


def uids(spaces: Sequence[str]) -> list[str]:
    return [f"{space}/p{at}" for space in spaces for at in range(PODS_EACH)]


def placed(compiled: Compiled) -> dict[str, str]:
    """Where the pods of the neighbours go."""
    assert compiled.program is not None
    neighbours = [f"team-{at + 1:02}" for at in range(NEIGHBOURS)]
    engine = cluster(compiled.program, ["team-00", *neighbours])
    # In one call: the pods of the burden come last, so that they take no room.
    wanted, asked = uids(neighbours), uids(["team-00"])
    decided = engine.schedule([*wanted, *asked], 0).decisions
    assert len(decided) == len(wanted) + len(asked)
    return {uid: each.node for uid, each in zip(wanted, decided, strict=False)}


@pytest.mark.parametrize("text", BURDENS.values(), ids=BURDENS.keys())
def test_a_burden_of_one_tenant_moves_no_pod_of_others(text: str) -> None:
    alone = placed(programs()(fifty("")[:1] + fifty("")[2:]))
    compiled = programs()(fifty(text))
    beside = placed(compiled)
    assert outcome_of(compiled.tenants, "team-00").state == IN_FORCE
    assert beside == alone
    assert len(alone) == NEIGHBOURS * PODS_EACH
    assert sum(bool(node) for node in alone.values()) >= 6 * PODS_EACH


EXPRESSIONS = st.sampled_from(
    [
        "true",
        "false",
        "node.podCount < 2",
        "1 / node.podCount > 0",
        "cluster.pods.all(p, p.namespace == 'team-00')",
        "node.pods.all(p, p.namespace != 'team-01')",
        "label(node, 'pool') != 'pool-01'",
        "pod.metadata.namespace != 'team-01'",
        "lists.range(900).all(x, x >= 0)",
        "lists.range(4000).all(x, lists.range(4000).all(y, x + y >= 0))",
        "node.podCount * 100",
        "0 - 100000",
        "'x'.repeat(",
    ]
)
NAMES = st.sampled_from(["ours", "NodeResourcesFit", "team-01/ours", "tenant:team-01", "other", ""])
PREDICATES = st.fixed_dictionaries(
    {"name": NAMES, "expression": EXPRESSIONS},
    optional={
        "enforcement": st.just("audit"),
        "preemptible": st.booleans(),
        "messageExpression": st.just("node.name + ' is not ours'"),
    },
)
PRIORITIES = st.fixed_dictionaries(
    {
        "name": NAMES,
        "expression": EXPRESSIONS,
        "weight": st.sampled_from([1, 9, 10, 11, 20_000_000]),
    }
)
SPECS = st.fixed_dictionaries(
    {"predicates": st.lists(PREDICATES, max_size=2)},
    optional={
        "priorities": st.lists(PRIORITIES, max_size=2),
        "failurePolicy": st.sampled_from(["Fail", "Ignore"]),
        "limits": st.just({"costPerCycle": 500_000_000, "allowQuadratic": True}),
        "profiles": st.sampled_from([[{"schedulerName": "kpolicy"}], [{"schedulerName": "x"}]]),
    },
)
# What only the operator may say.
CLAIMS: st.SearchStrategy[dict[str, object]] = st.sampled_from(
    [
        {"base": "none"},
        {"extenders": [{"urlPrefix": "http://10.0.0.1:80"}]},
        {"preemption": {"policy": "Never"}},
        {"paramsFrom": {"name": "secrets", "namespace": "team-01"}},
    ]
)


SOUND: st.SearchStrategy[dict[str, object]] = st.sampled_from(
    ["false", "node.podCount < 2", "1 / node.podCount > 0", "node.name != 'n1'"]
).map(lambda expression: {"predicates": [{"name": "ours", "expression": expression}]})


@st.composite
def hostile_policies(draw: st.DrawFn) -> str:
    """Policies that are sound, or claim what is not theirs, are wrong somewhere, or cut short."""
    spec: dict[str, object] = {**draw(st.one_of(SOUND, SPECS))}
    if draw(st.integers(0, 4)) == 0:
        spec.update(draw(CLAIMS))
    document = {
        "apiVersion": "kpolicy.dev/v1alpha1",
        "kind": "SchedulingPolicy",
        "metadata": {"name": draw(st.sampled_from(["ours", "policy", "team-01"]))},
        "spec": spec,
    }
    text = json.dumps(document)
    return text[: draw(st.integers(0, len(text)))] if draw(st.integers(0, 9)) == 0 else text


def test_whatever_a_tenant_writes_no_pod_of_others_goes_elsewhere() -> None:
    compile_all = programs()
    alone = placed(compile_all(fifty("")[:1] + fifty("")[2:]))
    assert len(alone) == NEIGHBOURS * PODS_EACH
    states: Counter[str] = Counter()

    @settings(max_examples=60)
    @given(hostile_policies())
    def holds(text: str) -> None:
        compiled = compile_all(fifty(text))
        states[outcome_of(compiled.tenants, "team-00").state] += 1
        assert sum(each.state == IN_FORCE for each in compiled.tenants[1:]) == TENANTS - 1
        assert placed(compiled) == alone

    holds()
    assert states[IN_FORCE] >= 5
    assert states[REFUSED] + states[LAST_GOOD] >= 5


LARGE = RULES.format(expression=" && ".join(f"node.name != 'n{at}'" for at in range(60)))


def test_a_large_tenant_takes_no_room_from_others(monkeypatch: pytest.MonkeyPatch) -> None:
    # Each of fifty has room for fifty nodes: enough for small rules, and not for large ones.
    monkeypatch.setattr(composition, "PROGRAM_NODES_MAX", TENANTS * 50)
    compile_all = programs()
    small = compile_all(fifty(wants("mine")))
    assert {each.state for each in small.tenants} == {IN_FORCE}
    compiled = compile_all(fifty(LARGE))
    large = outcome_of(compiled.tenants, "team-00")
    assert [each.state for each in compiled.tenants if each != large] == [IN_FORCE] * (TENANTS - 1)
    assert (large.state, large.in_force) == (LAST_GOOD, small.tenants[0].in_force)
    assert "KP136" in large.why
    assert large.diagnostics[-1].code == "KP136"
    # The last good policy is no way around it either.
    monkeypatch.setattr(composition, "PROGRAM_NODES_MAX", 0)
    assert {each.state for each in compile_all(fifty(LARGE)).tenants} == {REFUSED}


async def test_metrics_by_rule_have_a_bounded_number_of_labels() -> None:
    spaces = [f"team-{at:02}" for at in range(TENANTS_NAMED_MAX + 10)]
    fails = RULES.format(expression="1 / node.podCount > 0")
    compiled = programs()([OPERATOR, *(of(space, fails) for space in spaces)])
    assert compiled.program is not None
    engine = cluster(compiled.program, spaces)
    assert len(engine.schedule(uids(spaces), 0).decisions) == len(spaces) * PODS_EACH
    runtime = runtime_of(engine, ManualClock())
    try:
        await runtime.engine.statistics.refresh()
        once = errors_by_rule(runtime.metrics)
        await runtime.engine.statistics.refresh()
    finally:
        runtime.engine.stop()
    assert errors_by_rule(runtime.metrics) == once, "each error is counted once"
    of_tenants = {rule: count for rule, count in once.items() if rule.startswith("tenant")}
    assert len(of_tenants) == TENANTS_NAMED_MAX + 1
    assert all(count > 0 for count in of_tenants.values())
    assert of_tenants["tenants:other"] == 10 * of_tenants["tenant:team-00"]


def errors_by_rule(metrics: SchedulerMetrics) -> dict[str, float]:
    found = parsed(metrics.registry.render())["kpolicy_rule_errors_total"].samples
    return {dict(labels)["rule"]: count for labels, count in found.items()}
