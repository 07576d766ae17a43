"""Runs attacks and prints their figures as they come."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path

from tests.attack.attack import Attack, Figure


def run_all(attacks: Iterable[Attack]) -> int:
    """Returns the number of figures that show a broken promise."""
    broken = 0
    for attack in attacks:
        print(f"{attack.name}: {attack.about}", flush=True)
        with tempfile.TemporaryDirectory(prefix=f"attack-{attack.name}-") as folder:
            figures = attack.run(Path(folder))
        assert figures, f"{attack.name} measured nothing"
        for figure in figures:
            print(line(figure), flush=True)
        broken += sum(1 for figure in figures if figure.broken)
    if broken:
        print(f"{broken} promises did not hold", file=sys.stderr)
    return broken


def line(figure: Figure) -> str:
    end = f"  BROKEN: {figure.broken}" if figure.broken else ""
    return f"  {figure.what:<56} {figure.value:>12}{end}"
