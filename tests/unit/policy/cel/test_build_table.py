"""The committed parser table is that of the grammar that is installed."""

from __future__ import annotations

import pytest

from kpolicy.policy.cel import build_table, parser_table
from kpolicy.policy.cel import build_table as grammar


def test_the_table_is_not_stale() -> None:
    expected = build_table.fingerprint()
    assert expected == parser_table.FINGERPRINT, "run python -m kpolicy.policy.cel.build_table"


def test_a_changed_grammar_is_noticed() -> None:
    shipped = build_table.shipped_grammar()
    with pytest.raises(ValueError, match=r"cel\.lark has changed"):
        grammar.patched(shipped.replace("member_dot     :", "member_dot :"))
