"""The list of codes is complete."""

from __future__ import annotations

import re
from pathlib import Path

import kpolicy.policy as package
from kpolicy.diagnostics import Severity, has_errors
from kpolicy.policy.codes import FAMILIES
from kpolicy.policy.codes.registry import pages, runtime_pages
from kpolicy.policy.compile import compile_policy
from tests.tree.sources import ROOT
from tests.unit.policy.policies import policy

SOURCES = sorted(Path(package.__file__).parent.rglob("*.py"))


def test_every_page_says_all_there_is_to_say() -> None:
    assert len(pages()) > 50
    for code, page in pages().items():
        assert re.fullmatch(r"KP\d{3}", code)
        assert code[:3] in FAMILIES
        assert page.code == code
        assert page.severity in (Severity.ERROR, Severity.WARNING)
        assert page.title
        assert page.why.endswith(".")
        assert page.bad != page.good


def test_every_code_that_is_used_has_a_page() -> None:
    used = {
        code
        for path in SOURCES
        if not path.name.endswith("_pages.py")
        for code in re.findall(r'"(KP\d{3})"', path.read_text("utf-8"))
    }
    assert len(SOURCES) > 30
    assert len(used) > 25
    assert used <= set(pages())


def test_every_error_of_an_expression_has_a_page() -> None:
    source = (ROOT / "rust" / "kpolicy-cel" / "src" / "error.rs").read_text("utf-8")
    codes = re.findall(r'=> "(KR\d{3})"', source)
    assert len(codes) == 10
    # An order whose number is none is an error to the queue only.
    assert sorted([*codes, "KR111"]) == list(runtime_pages())


def test_what_a_page_of_an_error_advises_is_sound() -> None:
    assert len(runtime_pages()) == 11
    for page in runtime_pages().values():
        lines = "".join(f"\n      {line}" for line in page.good.splitlines())
        rule = f"predicates:\n  - name: a\n    expression: |{lines}"
        text = policy(page.good if page.good.startswith("queue:") else rule)
        assert not has_errors(compile_policy(text).diagnostics), page.code
