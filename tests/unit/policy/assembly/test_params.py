"""Params and quantities."""

from __future__ import annotations

from typing import Any

import pytest

from kpolicy.policy.assembly.params import parse_param_type, quantity, seen_type, wanted_config_maps
from kpolicy.policy.compile import compile_policy
from kpolicy.policy.yaml.source import Source
from tests.unit.policy.policies import codes_and_places, names, policy, profile


@pytest.mark.parametrize(
    ("text", "unit", "value"),
    [
        ("200Gi", None, 200 * 2**30),
        ("1.5", None, 2),
        ("500m", "milli", 500),
        ("2", "milli", 2000),
        ("1e3", None, 1000),
        ("-1k", None, -1000),
        (".5Ki", None, 512),
        ("1n", None, 1),
        ("2GB", None, None),
        ("", None, None),
        ("9E", None, 9 * 10**18),
        ("10E", None, None),
        ("1e99", None, None),
    ],
)
def test_quantities_are_whole_numbers_rounded_up(
    text: str, unit: str | None, value: int | None
) -> None:
    assert quantity(text, unit) == value


@pytest.mark.parametrize(
    ("written", "kind"),
    [
        ("int", "int"),
        ("quantity", "int"),
        ("map(string, list(string))", "map(string, list(string))"),
        ("list(quantity)", "list(int)"),
        ("map(int, int)", None),
        ("integer", None),
        ("list(int, int)", None),
        ("list(" * 9 + "int" + ")" * 9, None),
    ],
)
def test_types_of_params_are_types_of_expressions(written: str, kind: str | None) -> None:
    parsed = parse_param_type(written)
    assert (parsed and str(seen_type(parsed))) == kind


TEXT = policy(
    """
params:
  most: {type: int, default: 4, minimum: 1, maximum: 9}
  pools: {type: 'map(string, list(string))', default: {ml: [a100]}}
predicates:
  - {name: a, expression: pod.priority < params.most}
  - name: b
    expression: label(node, 'gpu') in params.pools['ml']
"""
)


def test_a_value_given_comes_before_the_default() -> None:
    default, overridden = compile_policy(TEXT), compile_policy(TEXT, params={"most": 7})
    assert default.diagnostics == overridden.diagnostics == ()
    assert profile(default)["filters"][0] != profile(overridden)["filters"][0]
    assert profile(default)["filters"][1] == profile(overridden)["filters"][1]


@pytest.mark.parametrize("value", [10, 0, "4", 4.5, True, [4]])
def test_a_value_out_of_range_or_of_another_type_is_a_finding(value: Any) -> None:
    compiled = compile_policy(TEXT, params={"most": value})
    assert [code for code, _ in codes_and_places(compiled.diagnostics)] == ["KP113"]


def test_a_param_without_any_value_is_a_finding() -> None:
    text = TEXT.replace("default: 4, ", "")
    assert [code for code, _ in codes_and_places(compile_policy(text).diagnostics)] == ["KP113"]
    assert compile_policy(text, params={"most": 2}).diagnostics == ()


BASE = policy(
    """
params:
  most: {type: int, default: 4, maximum: 9}
variables: [{name: limit, expression: params.most * 10}]
predicates:
  - {name: a, expression: pod.priority < variables.limit}
""",
    "base",
)
MAP = """\
apiVersion: v1
kind: ConfigMap
metadata: {name: numbers, namespace: kube-system}
data:
"""
FROM = "base: base\nparamsFrom: [{configMap: {namespace: kube-system, name: numbers}}]\n"
CHILD = "params:\n  most: {type: int, default: 6, maximum: 9}\n"


def child(spec: str) -> str:
    return policy(spec, "child", profile="other")


def limit_of(*texts: str, name: str = "other", **params: Any) -> dict[str, Any]:
    """The rule `a` of the profile, without where it stands."""
    rule: dict[str, Any] = profile(compile_policy(texts, params=params), name)["filters"][0]
    assert rule["name"] == "a"
    constants: dict[str, Any] = rule["expression"]["constants"]
    return constants


def literal(most: int) -> dict[str, Any]:
    return limit_of(BASE.replace("default: 4", f"default: {most}"), name="kpolicy")


def test_a_value_comes_from_the_nearest_place_that_has_one() -> None:
    numbers = f"{MAP}  most: '7'\n"
    assert literal(4) != literal(6)
    assert limit_of(BASE, child("base: base")) == literal(4)
    assert limit_of(BASE, child(f"base: base\n{CHILD}")) == literal(6)
    assert limit_of(BASE, child(FROM + CHILD), numbers) == literal(7)
    assert limit_of(BASE, child(FROM), numbers) == literal(7)
    assert limit_of(BASE, child(FROM + CHILD), numbers, most=8) == literal(8)


def test_a_base_keeps_its_own_value_for_its_own_profile() -> None:
    both = (BASE, child(f"base: base\n{CHILD}"))
    assert limit_of(*both, name="kpolicy") == literal(4)
    assert limit_of(*both, name="other") == literal(6)


def test_a_rule_that_two_policies_of_a_profile_have_with_other_values_counts_twice() -> None:
    same = policy(f"base: base\n{CHILD}", "child")
    assert names(profile(compile_policy([BASE, same]))["filters"]) == ["a", "child/a"]
    plain = policy("base: base", "child")
    assert names(profile(compile_policy([BASE, plain]))["filters"]) == ["a"]


def test_a_base_without_profiles_may_leave_a_value_to_its_extensions() -> None:
    base = BASE.replace("default: 4, ", "").replace("  profiles: [{schedulerName: kpolicy}]\n", "")
    assert limit_of(base, child(f"base: base\n{CHILD}")) == literal(6)
    left = compile_policy([base, child("base: base")])
    assert [code for code, _ in codes_and_places(left.diagnostics)] == ["KP113"]


def test_a_child_cannot_give_a_param_of_its_base_another_type() -> None:
    text = child("base: base\nparams:\n  most: {type: string, default: x}")
    [first, *_] = compile_policy([BASE, text]).diagnostics
    assert (first.code, first.message) == (
        "KP113",
        "`most` is an int in `base`, whose rules use it",
    )


@pytest.mark.parametrize(
    ("data", "code", "place"),
    [
        ("  most: seven\n", "KP113", "5:9"),
        ("  most: '70'\n", "KP113", "5:9"),
        ("  most: '[7'\n", "KP113", "5:9"),
        ("  most: ''\n", "KP113", "5:9"),
        ("  moost: '7'\n", "KP125", "5:3"),
    ],
)
def test_what_is_wrong_in_a_config_map_is_reported_with_its_place(
    data: str, code: str, place: str
) -> None:
    compiled = compile_policy([BASE, child(FROM), MAP + data])
    assert codes_and_places(compiled.diagnostics) == [(code, place)]
    assert compiled.diagnostics[0].place is not None
    assert compiled.diagnostics[0].place.file == "policy-3.yaml"


def test_a_config_map_that_a_base_names_may_hold_params_of_its_extensions() -> None:
    base = f"{BASE}  {FROM.removeprefix('base: base').lstrip()}"
    heirs = [
        policy(f"base: base\nparams:\n  {name}: {{type: int, default: 1}}", name, profile=name)
        for name in ("lower", "upper")
    ]
    numbers = f"{MAP}  most: '7'\n  lower: '3'\n"
    assert codes_and_places(compile_policy([base, heirs[0], numbers]).diagnostics) == []
    assert (
        codes_and_places(compile_policy([base, *heirs, f"{numbers}  upper: '5'\n"]).diagnostics)
        == []
    )
    # A key that nobody declares is still reported, once, with the name that may be meant.
    (found,) = compile_policy([base, *heirs, f"{numbers}  uper: '5'\n"]).diagnostics
    assert (found.code, found.hint) == ("KP125", "did you mean `upper`?")
    # What a stranger declares is no param of these.
    stranger = heirs[1].replace("  base: base\n", "")
    (found,) = compile_policy([base, heirs[0], stranger, f"{numbers}  upper: '5'\n"]).diagnostics
    assert found.code == "KP125"


def test_a_config_map_that_is_missing_is_an_error_unless_it_is_optional() -> None:
    compiled = compile_policy([BASE, child(FROM)])
    assert codes_and_places(compiled.diagnostics) == [("KP123", "7:59")]
    assert compiled.diagnostics[0].hint
    optional = FROM.replace("numbers}", "numbers, optional: true}")
    assert limit_of(BASE, child(optional)) == literal(4)


def test_texts_of_a_config_map_are_read_by_type() -> None:
    spec = """\
params:
  pools: {type: 'map(string, list(string))'}
  scratch: {type: quantity}
  word: {type: string}
  is_on: {type: bool}
paramsFrom: [{configMap: {namespace: a, name: more}}]
predicates:
  - name: a
    expression: >-
      label(node, 'gpu') in params.pools['ml'] && node.free('memory') > params.scratch
      && pod.name != params.word && params.is_on
"""
    more = "kind: ConfigMap\napiVersion: v1\nmetadata: {name: more}\ndata:\n"
    more += "  pools: |\n    ml: [a100]\n  scratch: 2Gi\n  word: '12'\n  is_on: 'true'\n"
    values = {"pools": {"ml": ["a100"]}, "scratch": "2Gi", "word": "12", "is_on": True}
    optional = spec.replace("more}", "more, optional: true}")
    held = profile(compile_policy([policy(optional), more]))["filters"][0]
    assert held == profile(compile_policy(policy(optional), params=values))["filters"][0]


def test_a_value_for_a_param_that_no_policy_declares_is_an_error() -> None:
    [finding] = compile_policy(TEXT, params={"moost": 3}).diagnostics
    assert (finding.code, finding.hint) == ("KP124", "did you mean `most`?")


def test_a_config_map_that_no_policy_names_is_no_policy() -> None:
    sources = [Source("policy.yaml", TEXT), Source("numbers.yaml", f"{MAP}  most: '7'\n")]
    assert codes_and_places(compile_policy(sources).diagnostics) == [("KP101", "5:3")]


def test_the_wanted_config_maps_are_listed() -> None:
    sources = [Source("base.yaml", BASE), Source("child.yaml", child(FROM))]
    [wanted] = wanted_config_maps(sources)
    assert (wanted.namespace, wanted.name) == ("kube-system", "numbers")
    held = Source("numbers", f"{MAP}  most: '7'\n  x.yaml: 'kind: none'\n", is_for_params=True)
    assert wanted_config_maps([*sources, held]) == ()
    assert compile_policy([*sources, held]).diagnostics == ()
