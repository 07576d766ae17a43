"""`python -m tests.worlds`: compile the rules again."""

from __future__ import annotations

from tests.worlds.rules import COMPILED, SHIPPED, compiled, shipped

COMPILED.write_text(compiled())
SHIPPED.write_text(shipped())
