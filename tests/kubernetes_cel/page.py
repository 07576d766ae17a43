"""The tables of docs/cel-differences.md: `python -m tests.kubernetes_cel` writes them."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from tests.conformance.cel.decided_by_kubernetes import DECISIONS
from tests.kubernetes_cel.calls import OWN
from tests.kubernetes_cel.differences import DIFFERENCES

PAGE: Final = Path(__file__).parents[2] / "docs" / "cel-differences.md"
_TABLE: Final = "<!-- {name} -->\n\n{body}\n\n<!-- end -->"


def renewed(text: str) -> str:
    """The page with the tables as they are now."""
    for name, body in _tables().items():
        before, opened, rest = text.partition(f"<!-- {name} -->")
        _, closed, after = rest.partition("<!-- end -->")
        assert opened, name
        assert closed, name
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
            [(each.expression, each.kubernetes, each.specification) for each in DECISIONS],
        ),
        "functions": ", ".join(f"`{name}`" for name in OWN),
    }


def _table(heads: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    lines = [heads, ("---",) * len(heads), *rows]
    return "\n".join(f"| {' | '.join(map(_cell, line))} |" for line in lines)


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
