"""`python -m tests.worlds`: compile the rules again."""

from __future__ import annotations

from tests.worlds.rules import COMPILED, compiled

COMPILED.write_text(compiled())
