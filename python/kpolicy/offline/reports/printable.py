"""Text of files and clusters made safe for a terminal: control characters are shown as escapes."""

from __future__ import annotations

import re
from typing import Final

# C0 without tab and line feed, DEL, C1, and the marks that change the direction of text.
_CONTROL: Final = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def printable(text: str) -> str:
    return _CONTROL.sub(_escape, text)


def _escape(match: re.Match[str]) -> str:
    code = ord(match[0])
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"
