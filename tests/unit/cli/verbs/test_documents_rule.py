"""`kpolicy rule` and `kpolicy schema`."""

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


def test_the_schema_describes_the_document(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["schema"]) == 0
    schema = json.loads(capsys.readouterr().out)
    assert schema["$id"] == "https://kpolicy.dev/schema/v1alpha1/schedulingpolicy.json"
    assert set(schema["required"]) == {"apiVersion", "kind", "metadata"}
    spec = schema["$defs"]["Spec"]
    assert {"predicates", "priorities", "matchConditions", "tieBreak"} <= set(spec["properties"])
    assert spec["additionalProperties"] is False
    assert schema["$defs"]["Variable"]["properties"]["expression"]["format"] == "cel"
    assert cli.main(["schema", "--kind", "KubeSchedulerConfiguration"]) == 0
