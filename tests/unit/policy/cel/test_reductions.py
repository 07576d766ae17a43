"""Literals as they are written."""

from __future__ import annotations

import pytest

from kpolicy.policy.cel import reductions


@pytest.mark.parametrize(
    ("token", "value"),
    [
        ("'a'", "a"),
        ('"a"', "a"),
        ("'''a\n'b'''", "a\n'b"),
        (r"'\n\t\\\''", "\n\t\\'"),
        (r"'\x41\X41\101\u0041\U00000041'", "AAAAA"),
        (r"r'\n'", r"\n"),
        (r"'\?\`'", "?`"),
        ('""', ""),
        ("''''''", ""),
        (r"'\u00e9\U0001F600'", "é😀"),
    ],
)
def test_strings(token: str, value: str) -> None:
    assert reductions.string(token) == value


@pytest.mark.parametrize(
    ("token", "value"),
    [("b'é'", "é".encode()), (r"b'\xff\377'", b"\xff\xff"), (r"br'\x'", b"\\x"), ("b''", b"")],
)
def test_bytes(token: str, value: bytes) -> None:
    assert reductions.octets(token) == value


@pytest.mark.parametrize(("token", "value"), [("0x1F", 31), ("-0x10", -16), ("007", 7)])
def test_integers(token: str, value: int) -> None:
    assert reductions.integer(token) == value


@pytest.mark.parametrize(
    ("decode", "token", "code"),
    [
        (reductions.integer, "9223372036854775808", "KP207"),
        (reductions.integer, "9" * 5000, "KP207"),
        (reductions.unsigned, "18446744073709551616u", "KP207"),
        (reductions.double, "1e999", "KP207"),
        (reductions.string, r"'\ud800'", "KP110"),
        (reductions.string, r"'\8'", "KP110"),
        (reductions.octets, r"b'\u0041'", "KP110"),
    ],
)
def test_what_denotes_nothing(decode: object, token: str, code: str) -> None:
    assert callable(decode)
    with pytest.raises(reductions.LiteralError) as caught:
        decode(token)
    assert caught.value.code == code


def test_the_ends_of_the_ranges() -> None:
    assert reductions.integer("-9223372036854775808") == -(2**63)
    assert reductions.unsigned("18446744073709551615u") == 2**64 - 1
