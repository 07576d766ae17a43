"""Every shipped policy lints clean, and has tests that pass and see all of it."""

from __future__ import annotations

import re
from pathlib import Path

import kpolicy
from kpolicy.policy.compile import compile_policy, shipped_names, shipped_source
from kpolicy.policy.yaml.source import Source
from tests.tree.sources import ROOT

FOLDER = ROOT / "policies"
# What kube-scheduler does has no expression.
NOTHING_COUNTED = ("gpus-least-fragmentation", "kube-scheduler-default")


def test_every_shipped_policy_lints_clean_of_warnings_too() -> None:
    names = shipped_names()
    assert len(names) >= 13
    findings = {name: compile_policy([shipped_source(name)]).diagnostics for name in names}
    assert {name: found for name, found in findings.items() if found} == {}


def test_every_shipped_policy_is_called_like_its_file_and_can_be_extended() -> None:
    for name in shipped_names():
        text = (
            "apiVersion: kpolicy.dev/v1alpha1\nkind: SchedulingPolicy\nmetadata: {name: ours}\n"
            f"spec: {{profiles: [{{schedulerName: kpolicy}}], base: {name}}}\n"
        )
        compiled = compile_policy([Source("ours.yaml", text)])
        assert compiled.program is not None, (name, compiled.diagnostics)
        assert compiled.program.policies[:2] == ("ours", name)


def test_tests_of_every_shipped_policy_pass_and_see_all_of_it() -> None:
    run = kpolicy.run_tests(FOLDER)
    assert run.is_fine, [test.mismatches for _, test in run.tests() if not test.has_passed]
    assert {suite.name for suite in run.suites} == set(shipped_names())
    assert run.passed >= 50
    assert [
        (covered.file, item.label) for covered in run.coverage for item in covered.uncovered()
    ] == []
    assert sum(covered.rules for covered in run.coverage) >= 35
    assert sum(covered.branches for covered in run.coverage) >= 150


def test_every_document_asks_for_full_coverage_of_what_is_counted() -> None:
    files = sorted(FOLDER.glob("*.test.yaml"))
    assert len(files) == len(shipped_names())
    lacking = [
        file.name
        for file in files
        if not re.search(r"^coverage: \{minimum: 100%\}$", file.read_text(), re.MULTILINE)
    ]
    assert lacking == [f"{name}.test.yaml" for name in NOTHING_COUNTED]
    counted = {Path(covered.file).stem for covered in kpolicy.run_tests(FOLDER).coverage}
    assert counted == set(shipped_names()) - set(NOTHING_COUNTED)
