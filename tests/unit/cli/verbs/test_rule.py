"""`kpolicy rule`."""

from __future__ import annotations

import json

import pytest

from kpolicy import cli
from kpolicy.cluster import connection_problem
from kpolicy.policy.codes.registry import pages, runtime_pages
from kpolicy.scheduler import problem_codes


def test_a_code_has_a_page_in_any_case(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["rule", "kp204"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("KP204 (error): no matching overload\n")
    assert "bad:" in out
    assert "good:" in out


def test_errors_of_expressions_have_pages_too(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["rule", "KR102"]) == 0
    assert capsys.readouterr().out.startswith("KR102 (error): no such key\n")


@pytest.mark.parametrize(
    ("code", "title"),
    [
        ("kpc205", "KPC205 (error): the user lacks a permission (403)\n"),
        ("KPS102", "KPS102 (error): the policy has errors, and there is no earlier one"),
    ],
)
def test_codes_of_connections_and_of_the_scheduler_have_a_meaning(
    code: str, title: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["rule", code]) == 0
    assert capsys.readouterr().out.startswith(title)


@pytest.mark.parametrize("form", ["text", "markdown"])
def test_all_codes_are_listed(form: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["rule", "--all", "--output", form]) == 0
    out = capsys.readouterr().out
    assert len(pages()) > 50
    assert all(code in out for code in (*pages(), *connection_problem.CATALOGUE))


def test_pages_can_be_read_by_programs(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["rule", "--all", "--output", "json"]) == 0
    read = json.loads(capsys.readouterr().out)["codes"]
    problems = [*connection_problem.CATALOGUE, *problem_codes.CATALOGUE]
    assert [page["code"] for page in read] == [*pages(), *runtime_pages(), *problems]


@pytest.mark.parametrize("arguments", [[], ["KP999"], ["nonsense"]])
def test_no_such_code_is_two(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["rule", *arguments]) == 2
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("node.labels", "a label of a node changes"),
        ("node.domain('zone').pods.count(selector('app=web'))", "node.domain.pods.count (fact)"),
        ("node.status.nodeInfo.kernelVersion", "something else of a node changes"),
        ("clamp", "clamp(int, int, int) → int"),
        ("math.greatest", "math.greatest(number, …) → number"),
        ("sortBy", "list.sortBy(item, key) → list"),
        ("nodeaffinity", "addedAffinity.requiredDuringSchedulingIgnoredDuringExecution"),
        ("MatchNodeSelector", "Stands for the built-in `NodeAffinity`."),
        ("&&", "bool && bool → bool"),
    ],
)
def test_a_name_of_the_language_has_an_entry(
    name: str, shown: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["rule", name]) == 0
    out = capsys.readouterr().out
    assert shown in out
    assert "example:\n" in out


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("NodeAfinity", "did you mean `NodeAffinity`?"),
        ("node.lables", "did you mean `node.labels`?"),
        ("clmap", "did you mean `clamp`?"),
        ("KP20", "did you mean `KP2"),
        ("Coscheduling", "a plugin of kubernetes-sigs/scheduler-plugins"),
        ("node.status.nodeInfo.kernel", "there is no code, rule, fact or function"),
    ],
)
def test_a_name_that_is_not_there_is_answered_with_what_was_meant(
    name: str, hint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["rule", name]) == 2
    assert hint in capsys.readouterr().err


def test_entries_can_be_read_by_programs(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["rule", "NodeResourcesFit", "--output", "json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["codes"] == []
    [entry] = document["entries"]
    assert entry["kind"] == "built-in"
    arguments = {argument["name"]: argument for argument in entry["arguments"]}
    assert arguments["scoringStrategy.resources.weight"]["default"] == 1
    assert cli.main(["rule", "node.free", "--output", "jsonl"]) == 0
    [line] = capsys.readouterr().out.splitlines()
    assert json.loads(line)["cost"] > 0
    assert cli.main(["rule", "EqualPriority", "--output", "markdown"]) == 0
    assert capsys.readouterr().out.count("## EqualPriority\n") == 2  # a built-in, a legacy name
