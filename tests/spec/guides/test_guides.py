"""Each guide prints what it says it prints."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.spec.guides.console import GUIDES, replayed


@pytest.mark.parametrize("guide", GUIDES, ids=lambda guide: guide.stem)
def test_a_guide_says_what_its_commands_print(guide: Path, tmp_path: Path) -> None:
    text, commands = replayed(guide, tmp_path)
    assert commands >= 15
    assert text == guide.read_text("utf-8")


def test_there_are_guides() -> None:
    assert "first-policy" in [guide.stem for guide in GUIDES]
