"""Decodes literals: numbers, strings and bytes, as the grammar's tokens have them.

A literal that denotes no value raises `LiteralError`, which the parser turns into a diagnostic.
"""

from __future__ import annotations

import math
import re
from typing import Final

_INT_MIN: Final = -(2**63)
_INT_MAX: Final = 2**63 - 1
_UINT_MAX: Final = 2**64 - 1
_FIGURES_MAX: Final = 400
_ESCAPES: Final = {
    "a": "\a",
    "b": "\b",
    "f": "\f",
    "n": "\n",
    "r": "\r",
    "t": "\t",
    "v": "\v",
    "\\": "\\",
    "'": "'",
    '"': '"',
    "?": "?",
    "`": "`",
}
_ESCAPE: Final = re.compile(
    r"\\(?:(?P<octal>[0-3][0-7]{2})|[xX](?P<byte>[0-9a-fA-F]{2})|u(?P<short>[0-9a-fA-F]{4})"
    r"|U(?P<long>[0-9a-fA-F]{8})|(?P<character>[\s\S])|$)"
)


class LiteralError(Exception):
    """Why a literal denotes nothing: code, message, and where it is within the token."""

    def __init__(self, code: str, message: str, start: int = 0, end: int | None = None) -> None:
        super().__init__(message)
        self.code, self.message, self.start, self.end = code, message, start, end


def integer(token: str) -> int:
    return _bounded(token, _INT_MIN, _INT_MAX, "int")


def unsigned(token: str) -> int:
    return _bounded(token[:-1], 0, _UINT_MAX, "uint")


def _bounded(token: str, low: int, high: int, kind: str) -> int:
    digits = token.lower()
    if len(digits) > _FIGURES_MAX:
        raise LiteralError("KP207", f"the number is outside the range of {kind}")
    value = int(digits, 16 if "0x" in digits else 10)
    if not low <= value <= high:
        raise LiteralError("KP207", f"{token} is outside the range of {kind}: {low} to {high}")
    return value


def double(token: str) -> float:
    value = float(token)
    if math.isinf(value):
        raise LiteralError("KP207", f"{token[:40]} is outside the range of double")
    return value


def string(token: str) -> str:
    raw = token[0] in "rR"
    start = 1 if raw else 0
    body, at = _body(token, start)
    return body if raw else _decoded(body, at)


def octets(token: str) -> bytes:
    """`b'…'`: escapes by number are bytes, other characters their UTF-8."""
    raw = token[1] in "rR"
    body, at = _body(token, 2 if raw else 1)
    if raw:
        return body.encode("utf-8", "surrogatepass")
    parts: list[bytes] = []
    end = 0
    for match in _ESCAPE.finditer(body):
        parts.append(body[end : match.start()].encode("utf-8", "surrogatepass"))
        end = match.end()
        if number := match["octal"]:
            parts.append(bytes([int(number, 8)]))
        elif number := match["byte"]:
            parts.append(bytes([int(number, 16)]))
        elif match["character"] in _ESCAPES:
            parts.append(_ESCAPES[match["character"]].encode())
        else:
            raise _bad_escape(match, at)
    parts.append(body[end:].encode("utf-8", "surrogatepass"))
    return b"".join(parts)


def _body(token: str, start: int) -> tuple[str, int]:
    quote = 3 if token[start : start + 3] in ('"""', "'''") and len(token) >= start + 6 else 1
    return token[start + quote : -quote], start + quote


def _decoded(body: str, at: int) -> str:
    if "\\" not in body:
        return body
    parts: list[str] = []
    end = 0
    for match in _ESCAPE.finditer(body):
        parts.append(body[end : match.start()])
        parts.append(_character(match, at))
        end = match.end()
    parts.append(body[end:])
    return "".join(parts)


def _character(match: re.Match[str], at: int) -> str:
    if match["octal"]:
        return chr(int(match["octal"], 8))
    number = match["byte"] or match["short"] or match["long"]
    if number:
        code = int(number, 16)
        if code > 0x10FFFF or 0xD800 <= code <= 0xDFFF:
            raise LiteralError(
                "KP110", f"`{match[0]}` is not a Unicode character", *_within(match, at)
            )
        return chr(code)
    if match["character"] in _ESCAPES:
        return _ESCAPES[match["character"]]
    raise _bad_escape(match, at)


def _within(match: re.Match[str], at: int) -> tuple[int, int]:
    return at + match.start(), at + match.end()


def _bad_escape(match: re.Match[str], at: int) -> LiteralError:
    return LiteralError("KP110", f"`{match[0]}` is not an escape", *_within(match, at))
