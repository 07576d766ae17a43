"""From sources to a program, or to findings; never an exception."""

from __future__ import annotations

import json
import re
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from hypothesis import given, settings, strategies as st

from kpolicy.policy.compile import EVERY_POD, compile_policy, shipped_source
from kpolicy.policy.limits import DIAGNOSTICS_MAX
from kpolicy.policy.yaml.source import Source
from tests.unit.policy.policies import codes_and_places, document, names, policy, profile

DEMO = shipped_source("demo")


def test_the_demo_is_the_default_profile_with_a_predicate_and_a_priority() -> None:
    compiled = compile_policy([DEMO])
    assert compiled.diagnostics == ()
    entry = profile(compiled)
    default = profile(compile_policy())
    assert len(default["filters"]) == 14
    assert entry["filters"][:-1] == default["filters"]
    assert entry["scores"][:-1] == default["scores"]
    assert names(entry["scores"])[-1] == "prefer-ssd"
    rule = entry["filters"][-1]
    assert rule["expression"]["nodes"]
    del rule["expression"]
    assert rule == {
        "name": "critical-off-spot",
        "policy": 0,
        "match": [],
        "failurePolicy": "Fail",
        "message": "critical pods stay off spot nodes",
        "messageExpression": None,
        "reason": "SpotForbidden",
        "preemptible": True,
        "enforcement": "deny",
        "onError": "reject",
        "place": "demo.yaml:10:19",
    }


def test_the_program_is_canonical_json_named_by_its_hash() -> None:
    compiled = compile_policy([DEMO])
    program = compiled.program
    assert program is not None
    read = json.loads(program.bytes)
    shown = json.dumps(read, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    assert program.bytes == shown.encode()
    assert program.hash == read["hash"]
    assert re.fullmatch(r"sha256:[0-9a-f]{64}", program.hash)
    assert program.policies == ("demo", "kube-scheduler-default")
    assert program.scheduler_names == ("kpolicy",)


def test_the_same_text_gives_the_same_bytes() -> None:
    assert compile_policy([DEMO]) == compile_policy([DEMO])


def test_no_source_means_the_default_policy() -> None:
    compiled = compile_policy([])
    assert document(compiled)["policies"] == ["kube-scheduler-default"]
    assert compiled.diagnostics == ()


def test_offline_a_single_profile_can_serve_every_pod() -> None:
    served = document(compile_policy([], every_pod=True))["profiles"]
    assert [of_profile["schedulerName"] for of_profile in served] == [EVERY_POD]


def test_text_alone_is_a_source() -> None:
    assert document(compile_policy(policy("predicates: [{builtin: NodeName}]")))["policies"] == [
        "p"
    ]


def test_all_findings_of_a_file_come_in_one_run_and_there_is_no_program() -> None:
    text = policy(
        """
predicates:
  - builtin: NodeResourceFit
  - name: a
    expression: pod.priority >
  - name: b
    wieght: 3
    expression: pod.priority > 0
  - name: b
    expression: node.nothing
"""
    )
    compiled = compile_policy(text)
    assert compiled.program is None
    assert [code for code, _ in codes_and_places(compiled.diagnostics)] == [
        "KP103",
        "KP110",
        "KP102",
        "KP104",
        "KP201",
    ]


def test_places_lead_into_every_kind_of_scalar() -> None:
    text = policy(
        """
predicates:
  - {name: plain, expression: node.nope1}
  - name: quoted
    expression: "true && node.nope2"
  - name: literal
    expression: |
      true
        && node.nope3
  - name: folded
    expression: >-
      true
      && node.nope4
"""
    )
    places = dict.fromkeys(codes_and_places(compile_policy(text).diagnostics))
    lines = text.splitlines()
    found = [lines[int(at.split(":")[0]) - 1][int(at.split(":")[1]) - 1 :] for _, at in places]
    assert [rest[:5] for rest in found] == ["nope1", "nope2", "nope3", "nope4"]


def test_a_config_map_carries_policies_and_places_are_in_the_manifest() -> None:
    inner = policy("predicates: [{name: a, expression: node.nope}]").replace("\n", "\n    ")
    text = (
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata:\n"
        f"  README: not a policy\n  policy.yaml: |\n    {inner}\n"
    )
    compiled = compile_policy([Source("cm.yaml", text)])
    ((code, at),) = codes_and_places(compiled.diagnostics)
    line, column = map(int, at.split(":"))
    assert code == "KP201"
    assert text.splitlines()[line - 1][column - 1 :].startswith("nope")


def test_a_sound_config_map_compiles_with_its_places() -> None:
    inner = policy("predicates: [{name: a, expression: node.ready}]").replace("\n", "\n    ")
    text = f"apiVersion: v1\nkind: ConfigMap\ndata:\n  policy.yaml: |\n    {inner}\n"
    rule = profile(compile_policy([Source("cm.yaml", text)]))["filters"][0]
    name, line, column = rule["place"].split(":")
    assert name == "cm.yaml"
    assert text.splitlines()[int(line) - 1][int(column) - 1 :].startswith("node.ready")


def test_a_config_map_without_a_policy_says_so() -> None:
    compiled = compile_policy("apiVersion: v1\nkind: ConfigMap\ndata: {a: b}\n")
    assert codes_and_places(compiled.diagnostics) == [("KP101", "3:7")]


@pytest.mark.parametrize(
    "text",
    ["", "---\n", "# nothing\n", "just words", "[]", "kind: Deployment", "a: 1", "kind: Policee"],
)
def test_what_is_no_policy_is_a_finding(text: str) -> None:
    compiled = compile_policy(text)
    assert compiled.program is None
    assert [code for code, _ in codes_and_places(compiled.diagnostics)] == ["KP101"]


def test_other_kinds_found_in_a_folder_are_passed_over() -> None:
    folder = [
        Source("deployment.yaml", "apiVersion: apps/v1\nkind: Deployment\n", is_named=False),
        Source("t.yaml", "apiVersion: kpolicy.dev/v1alpha1\nkind: PolicyTest\n", is_named=False),
        Source("policy.yaml", policy("predicates: [{builtin: NodeName}]"), is_named=False),
    ]
    compiled = compile_policy(folder)
    assert compiled.diagnostics == ()
    assert document(compiled)["policies"] == ["p"]


def test_policies_with_one_name_are_a_finding_at_the_second() -> None:
    text = policy("predicates: []", base="")
    compiled = compile_policy([Source("a.yaml", text), Source("b.yaml", text)])
    assert [
        (finding.code, finding.place.file) for finding in compiled.diagnostics if finding.place
    ] == [("KP104", "b.yaml")]


def test_the_findings_of_a_second_policy_of_one_name_are_shown_too() -> None:
    first = policy("predicates: [{name: x, expression: 'nod.x'}]", base="")
    second = policy("predicates: [{name: y, expression: 'pdo.y'}]", base="")
    third = policy("predicates: [{name: z, expression: 'nowhere'}]", base="")
    compiled = compile_policy(
        [Source("a.yaml", first), Source("b.yaml", second), Source("c.yaml", third)]
    )
    assert compiled.program is None
    assert [
        (finding.code, finding.place.file) for finding in compiled.diagnostics if finding.place
    ] == [
        ("KP201", "a.yaml"),
        ("KP104", "b.yaml"),
        ("KP201", "b.yaml"),
        ("KP104", "c.yaml"),
        ("KP201", "c.yaml"),
    ]


def test_ties_are_broken_in_one_way() -> None:
    first = policy("tieBreak: name", "a")
    assert document(compile_policy([first, policy("", "b")]))["tieBreak"] == "name"
    compiled = compile_policy([first, policy("tieBreak: random", "b")])
    assert [code for code, _ in codes_and_places(compiled.diagnostics)] == ["KP116"]


def test_findings_are_cut_off_and_still_there_is_no_program() -> None:
    labels = "".join(f"    a{i}: no\n" for i in range(DIAGNOSTICS_MAX + 10))
    text = policy("shadow: 3").replace(
        "metadata: {name: p}", f"metadata:\n  name: p\n  labels:\n{labels}"
    )
    compiled = compile_policy(text)
    assert len(compiled.diagnostics) == DIAGNOSTICS_MAX
    assert compiled.program is None


def rules(count: int) -> str:
    """Half of them predicates, half of them priorities."""
    predicates = "".join(
        f"  - name: rule-{i}\n"
        f"    matchConditions: [{{name: c, expression: pod.priority >= {i}}}]\n"
        f"    expression: \"label(node, 'a') != 'spot-{i}' || node.free('cpu') > {i}\"\n"
        for i in range(count // 2)
    )
    priorities = "".join(
        f"  - name: score-{i}\n    expression: \"label(node, 'disk') == 'ssd{i}' ? 100 : 0\"\n"
        for i in range(count // 2)
    )
    return policy(f"predicates:\n{predicates}priorities:\n{priorities}")


def test_the_work_of_compiling_grows_with_the_number_of_rules_and_no_faster() -> None:
    compile_policy(rules(2))  # the first time loads the grammar
    few, many = _calls(rules(10)), _calls(rules(40))
    assert few > 1_000
    assert many / few < 4.4


def _calls(text: str) -> int:
    """How many functions of Python are called: the same on every machine."""
    calls = Counter[str]()
    with _profiled(calls):
        compiled = compile_policy(text)
    in_text = text.count('expression: "')
    assert len(profile(compiled)["filters"]) + len(profile(compiled)["scores"]) == in_text
    return calls["call"]


@contextmanager
def _profiled(calls: Counter[str]) -> Iterator[None]:
    before = sys.getprofile()
    sys.setprofile(lambda _frame, event, _argument: calls.update((event,)))
    try:
        yield
    finally:
        sys.setprofile(before)


@settings(max_examples=150)
@given(st.binary(max_size=120) | st.text(max_size=120))
def test_arbitrary_input_never_raises(text: str | bytes) -> None:
    compiled = compile_policy([Source("f", text)])
    assert (compiled.program is None) == any(
        finding.severity.value == "error" for finding in compiled.diagnostics
    )


SEEDS = [
    str(DEMO.text),
    str(shipped_source("kube-scheduler-default").text),
    (
        '{"kind": "Policy", "predicates": [{"name": "HostName"}], "priorities": '
        '[{"name": "A", "weight": 1, "argument": {"labelPreference": {"label": "a"}}}]}'
    ),
    (
        "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\nprofiles:\n"
        "- pluginConfig:\n  - {name: NodeAffinity, args: {addedAffinity: {}}}\n  plugins: {score: "
        "{enabled: [{name: ImageLocality, weight: 2}]}}\n"
    ),
]
PIECES = st.sampled_from(
    [
        "[]",
        "{}",
        "null",
        "1",
        "true",
        "'x'",
        "- ",
        ": ",
        "\n",
        "  ",
        "name",
        "expression",
        "&a",
        "*a",
        "{a: b}",
        "[1, {}]",
        "|\n",
        "\0",
        "é",
        "-1",
        "1e999",
        ".nan",
    ]
)


@settings(max_examples=300)
@given(
    st.sampled_from(SEEDS),
    st.lists(st.tuples(st.integers(0, 2_000), st.integers(0, 12), PIECES), max_size=4),
)
def test_damaged_policies_never_raise(seed: str, edits: list[tuple[int, int, str]]) -> None:
    text = seed
    for at, length, piece in edits:
        cut = at % (len(text) + 1)
        text = text[:cut] + piece + text[cut + length :]
    compiled = compile_policy([Source("f", text)])
    for finding in compiled.diagnostics:
        assert finding.place is not None
