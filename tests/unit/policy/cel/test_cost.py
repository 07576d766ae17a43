"""The static bound of cost."""

from __future__ import annotations

from kpolicy.policy.cel import Environment, compile_expression


def cost(text: str) -> int:
    return compile_expression(text, environment=Environment(cost_max=10**15)).cost


def test_a_loop_multiplies_and_a_second_one_multiplies_again() -> None:
    once = cost("node.pods.exists(p, p.priority > 1)")
    twice = cost("node.pods.exists(p, node.pods.exists(q, q.priority > p.priority))")
    assert 1024 <= once <= 10_000
    assert twice >= 1024 * 1024


def test_a_result_that_is_larger_than_its_operands_counts_as_it_is() -> None:
    assert cost("lists.range(4000).all(x, x >= 0)") >= 4000 * 3
    assert cost("lists.range(pod.priority).all(x, x >= 0)") >= 10_000 * 3
    once = "node.name.replace('a', '0123456789')"
    assert cost(f"{once}.contains('b')") >= 253
    twice = f"{once}.replace('0', '0123456789').contains('b')"
    assert cost(twice) >= 253 * 10
    assert cost("lists.range(20).all(x, x >= 0)") < 200


def test_a_variable_counts_once() -> None:
    loop = compile_expression("node.pods.exists(p, p.priority > 1)")
    environment = Environment(variables={"v": loop})
    single = compile_expression("variables.v", environment=environment).cost
    three = compile_expression(
        "variables.v && variables.v && variables.v", environment=environment
    ).cost
    assert three < single + 10


def test_only_one_branch_counts() -> None:
    dear = "node.pods.exists(p, p.priority > 1)"
    assert cost(f"pod.hostNetwork ? {dear} : {dear}") < 2 * cost(dear)


def test_the_limit_is_the_environment_s() -> None:
    text = "node.pods.exists(p, p.priority > 1)"
    tight = compile_expression(text, environment=Environment(cost_max=100))
    assert [diagnostic.code for diagnostic in tight.diagnostics] == ["KP401"]


def test_every_taint_against_the_pod_s_tolerations_is_within_what_is_recommended() -> None:
    """The taint rule that people write first; 2,000 is the limit that the documents recommend."""
    text = "node.taints.all(t, t.effect == 'PreferNoSchedule' || pod.tolerates(t))"
    assert 32 * 5 <= cost(text) <= 2_000


def test_the_hint_never_says_to_raise_what_may_only_be_lowered() -> None:
    text = "node.pods.exists(p, node.pods.exists(q, q.priority > p.priority))"
    [refused] = compile_expression(text).diagnostics
    assert refused.hint == (
        "count with a selector: `node.pods.count(selector(…))`; or `limits.allowQuadratic`, and "
        "then what a node really costs is limited"
    )
    [lowered] = compile_expression(text, environment=Environment(cost_max=100)).diagnostics
    assert lowered.hint.endswith(
        "this policy lowers the limit by `limits.costPerNode`, from 10,000"
    )


NESTED = "node.pods.all(p, node.pods.exists(q, q.priority > p.priority))"


def codes(text: str, environment: Environment) -> list[str]:
    return [
        finding.code for finding in compile_expression(text, environment=environment).diagnostics
    ]


def test_a_loop_inside_a_loop_is_allowed_on_request_also_in_a_variable() -> None:
    allowed = Environment(allow_quadratic=True)
    variable = compile_expression(NESTED, environment=allowed)
    assert variable.ir is not None
    assert variable.cost > 1024 * 1024
    within = Environment(allow_quadratic=True, variables={"v": variable})
    assert codes("variables.v && node.ready", within) == []
    assert codes(NESTED, Environment()) == ["KP401"]


def test_only_loops_inside_loops_are_allowed() -> None:
    """What is dear by itself, or twice in a row, is so on every node."""
    allowed = Environment(allow_quadratic=True, cost_max=100)
    once = "node.pods.exists(p, p.priority > 1)"
    variables = {"v": compile_expression(once, environment=Environment(allow_quadratic=True))}
    assert codes(once, allowed) == ["KP401"]
    assert codes(f"{once} && {once}", allowed) == ["KP401"]
    used = Environment(allow_quadratic=True, cost_max=100, variables=variables)
    assert codes("node.taints.all(t, t.key != '' || variables.v)", used) == ["KP401"]
