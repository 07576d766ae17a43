"""The tables of docs/cel-differences.md: `python -m tests.kubernetes_cel` writes them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from tests.kubernetes_cel.calls import OWN
from tests.kubernetes_cel.differences import AGAINST_THE_SPECIFICATION, DIFFERENCES

PAGE: Final = Path(__file__).parents[2] / "docs" / "cel-differences.md"
_TABLE: Final = "<!-- {name} -->\n\n{body}\n\n<!-- end -->"


def renewed(text: str) -> str:
    """The page with the tables as they are now."""
    for name, body in _tables().items():
        form = re.compile(rf"<!-- {name} -->\n.*?<!-- end -->", re.DOTALL)
        assert form.search(text), name
        before, _, rest = text.partition(f"<!-- {name} -->")
        _, _, after = rest.partition("<!-- end -->")
        text = before + _TABLE.format(name=name, body=body) + after
    return text


def _tables() -> dict[str, str]:
    return {
        "differences": _table(
            ("id", "kpolicy", "Kubernetes", "why"),
            [(f"`{each.id}`", each.kpolicy, each.kubernetes, each.why) for each in DIFFERENCES],
        ),
        "specification": _table(
            ("expression", "kpolicy and Kubernetes", "data of the specification"),
            list(AGAINST_THE_SPECIFICATION),
        ),
        "functions": ", ".join(f"`{name}`" for name in OWN),
    }


def _table(heads: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    lines = [heads, ("---",) * len(heads), *rows]
    return "\n".join(f"| {' | '.join(map(_cell, line))} |" for line in lines)


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
