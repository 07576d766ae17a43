"""Writes `builtin_table.py` from the engine's list of built-ins: `python -m build.builtin_table`.

`policy/` does not import the engine, so it reads this file. A test fails while the two differ.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from kpolicy.engine import built_ins

TABLE: Final = Path(__file__).resolve().parents[1] / "python/kpolicy/policy/models/builtin_table.py"
_HEAD: Final = '''"""The built-ins of the engine. Written by `make generated`; do not edit."""

from __future__ import annotations

from typing import Final

# In the order of filters: name, whether it filters, whether it scores, whether kube-scheduler's
# default profile has it, its weight there.
BUILTIN_TABLE: Final[tuple[tuple[str, bool, bool, bool, int], ...]] = (
'''


def text() -> str:
    """The whole file, as ruff formats it."""
    rows = (
        f'    ("{name}", {filters}, {scores}, {is_default}, {weight}),\n'
        for name, filters, scores, is_default, weight in built_ins()
    )
    return _HEAD + "".join(rows) + ")\n"


if __name__ == "__main__":
    TABLE.write_text(text())
