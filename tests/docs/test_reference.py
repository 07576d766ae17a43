"""The reference: each row of the compiler's tables has an entry, each example a value, and the
pages are what is made of them."""

from __future__ import annotations

import yaml

from kpolicy.cli.api_entry import api_entry, field_meaning
from kpolicy.diagnostics import Severity
from kpolicy.engine import built_ins, expression_facts
from kpolicy.policy.cel.calls import FAMILIES
from kpolicy.policy.cel.facts import API_PARTS, API_RECORDS, API_ROOTS
from kpolicy.policy.cel.macros import LOOPS
from kpolicy.policy.compile import compile_policy
from kpolicy.policy.legacy.meanings import PREDICATES, PRIORITIES
from kpolicy.policy.reference.language_entries import FACT
from kpolicy.policy.reference.rule_entries import BUILTIN, rule_entries
from kpolicy.policy.yaml.source import Source
from tests.docs.reference import FOLDER, entries, evaluated, has_value, reference_pages

WRITTEN_BY_HAND = {"README.md"}


def test_the_pages_are_those_that_are_made() -> None:
    made = reference_pages()
    assert len(made) == 9
    for page, text in made.items():
        assert page.read_text("utf-8") == text, f"run `python -m tests.docs`: {page.name}"
    assert {page.name for page in FOLDER.glob("*.md")} - WRITTEN_BY_HAND == {
        page.name for page in made
    }


def test_every_example_has_a_value() -> None:
    examples = [entry for entry in entries() if has_value(entry)]
    assert len(examples) >= 290
    failed = [
        (entry.name, entry.example, answer.error or answer.findings)
        for entry in examples
        if (answer := evaluated(entry.example)).error is not None
        or any(finding.severity is Severity.ERROR for finding in answer.findings)
    ]
    assert failed == []


def test_every_fact_of_the_engine_has_an_entry_and_what_wakes_it() -> None:
    facts = {entry.name: entry for entry in entries() if entry.kind == FACT}
    names = {
        name
        for name, *_ in expression_facts()
        if not name.endswith("[]") and not name.startswith("victim.") and not is_by_path(name)
    }
    assert len(names) > 60
    # The engine has facts for fields of `pod.controller` and `pod.volumes` too.
    assert names - {entry.name for entry in entries()} == set()
    assert [name for name in names & facts.keys() if not facts[name].wakes] == []


def is_by_path(name: str) -> bool:
    root, *path = name.split(".")
    return root in API_ROOTS and len(path) > 1 and path[0] in API_PARTS


def test_every_function_macro_and_built_in_has_an_entry() -> None:
    names = {entry.name for entry in entries()}
    functions = {family.function.replace("@", "") for family in FAMILIES}
    named = {function for function in functions if function[0].isalpha()}
    assert len(named) > 130
    assert named - names == set()
    assert {name for name, _ in LOOPS} - names == set()
    listed = list(rule_entries())
    of_rules = {entry.name for entry in listed}
    assert {name for name, *_ in built_ins()} == {e.name for e in listed if e.kind == BUILTIN}
    assert (PREDICATES.keys() | PRIORITIES.keys()) - of_rules == set()


def test_the_rule_of_each_built_in_compiles() -> None:
    compiled = 0
    for entry in rule_entries():
        if entry.kind == BUILTIN:
            policy = {
                "apiVersion": "kpolicy.dev/v1alpha1",
                "kind": "SchedulingPolicy",
                "metadata": {"name": "example"},
                "spec": {
                    "profiles": [{"schedulerName": "kpolicy"}],
                    **yaml.safe_load(entry.example),
                },
            }
            answer = compile_policy([Source("example.yaml", yaml.safe_dump(policy))])
            assert answer.program is not None, (entry.name, answer.diagnostics)
            compiled += 1
    assert compiled == len(built_ins())


def test_every_field_of_the_api_has_a_meaning_and_is_found_by_its_path() -> None:
    fields = [(kind.name, field) for kind in API_RECORDS for field in kind.members]
    assert len(fields) > 400
    without = [(k, f) for k, f in fields if not field_meaning(k.removeprefix("v1."), f)]
    assert without == []
    for path in ("pod.spec.containers[0].resources.requests", "node.status.nodeInfo.osImage"):
        entry = api_entry(path, {})
        assert entry is not None
        assert evaluated(entry.example).error is None, path
    assert api_entry("pod.spec.nodeName.nodeName", {}) is None


def test_every_argument_and_entry_has_a_meaning() -> None:
    arguments = [(e.name, path, f) for e in rule_entries() for path, f in e.arguments]
    assert len(arguments) > 60
    assert [(name, path) for name, path, field in arguments if not field.meaning] == []
    assert [entry.name for entry in entries() if not entry.meaning.endswith(".")] == []
