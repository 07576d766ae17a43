"""`python -m tests.kubernetes_cel`: writes the tables of docs/cel-differences.md."""

from __future__ import annotations

from tests.kubernetes_cel.page import PAGE, renewed

PAGE.write_text(renewed(PAGE.read_text("utf-8")), "utf-8")
