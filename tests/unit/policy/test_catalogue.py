"""The catalogue is whole."""

from __future__ import annotations

import re
from pathlib import Path

import kpolicy.policy as package
from kpolicy.diagnostics import Severity
from kpolicy.policy.catalogue import FAMILIES, pages

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
        if not path.name.startswith("catalogue_")
        for code in re.findall(r'"(KP\d{3})"', path.read_text("utf-8"))
    }
    assert len(SOURCES) > 30
    assert len(used) > 25
    assert used <= set(pages())
