"""Each guide that writes its own files prints what it says it prints."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.spec.guides.console import GUIDES, replayed

# Guides whose commands need more than their own files are checked by tests/docs.
ELSEWHERE = frozenset(
    {"comparing-policies", "metrics", "observability", "runbook", "snapshots", "tenants"}
)
# What they describe takes a cluster: tests/e2e/test_policy_source.py and test_why.py do it, and no
# output is shown.
NOTHING_SHOWN = frozenset({"policy-delivery", "why-is-a-pod-pending"})
HERE = [guide for guide in GUIDES if guide.stem not in ELSEWHERE | NOTHING_SHOWN]


@pytest.mark.parametrize("guide", HERE, ids=lambda guide: guide.stem)
def test_a_guide_says_what_its_commands_print(guide: Path, tmp_path: Path) -> None:
    text, commands = replayed(guide, tmp_path)
    assert commands >= 15
    assert text == guide.read_text("utf-8")


def test_every_guide_is_checked_somewhere() -> None:
    stems = {guide.stem for guide in GUIDES}
    assert stems >= ELSEWHERE | NOTHING_SHOWN
    assert stems - ELSEWHERE - NOTHING_SHOWN == {"first-policy"}
    quiet = [guide.read_text("utf-8") for guide in GUIDES if guide.stem in NOTHING_SHOWN]
    assert not any("```console" in text for text in quiet)
