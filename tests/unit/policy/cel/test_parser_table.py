"""The committed parser table matches the installed grammar."""

from __future__ import annotations

import pytest

from build import cel_parser_table, cel_parser_table as grammar
from kpolicy.policy.cel import parser_table


def test_the_table_is_not_stale() -> None:
    expected = cel_parser_table.fingerprint()
    assert expected == parser_table.FINGERPRINT, "run python -m build.cel_parser_table"


def test_a_changed_grammar_is_noticed() -> None:
    shipped = cel_parser_table.shipped_grammar()
    with pytest.raises(ValueError, match=r"cel\.lark has changed"):
        grammar.patched(shipped.replace("member_dot     :", "member_dot :"))
