"""What a plain YAML scalar stands for, and which ones other readers take for something else.

Owns the reading of YAML 1.2's core schema and the traps of YAML 1.1. Assumes an unquoted scalar.
Must not know where it stands.
"""

from __future__ import annotations

import re
from typing import Final

from kpolicy.policy.limits import INTEGER_CHARACTERS_MAX

_CONSTANTS: Final[dict[str, bool | None]] = {
    "": None,
    "~": None,
    "null": None,
    "Null": None,
    "NULL": None,
    "true": True,
    "True": True,
    "TRUE": True,
    "false": False,
    "False": False,
    "FALSE": False,
}
_INTEGER: Final = re.compile(r"[-+]?[0-9]+\Z")
_HEXADECIMAL: Final = re.compile(r"0x[0-9a-fA-F]+\Z")
_OCTAL: Final = re.compile(r"0o[0-7]+\Z")
_FLOAT: Final = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?\Z")

_OLD_BOOLEAN: Final = re.compile(r"(?:yes|Yes|YES|no|No|NO|on|On|ON|off|Off|OFF)\Z")
_OLD_OCTAL: Final = re.compile(r"[-+]?0[0-9_]+\Z")
_OLD_SEXAGESIMAL: Final = re.compile(r"[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+(?:\.[0-9_]*)?\Z")
_OLD_UNDERSCORED: Final = re.compile(r"[-+]?[1-9][0-9]*_[0-9_]*\Z")


def resolve(text: str) -> bool | int | float | str | None:
    """The value of a plain scalar by the core schema of YAML 1.2."""
    if text in _CONSTANTS:
        return _CONSTANTS[text]
    if not (text[0].isdigit() or text[0] in "+-."):
        return text
    if len(text) <= INTEGER_CHARACTERS_MAX:
        if _INTEGER.match(text):
            return int(text)
        if _HEXADECIMAL.match(text):
            return int(text[2:], 16)
        if _OCTAL.match(text):
            return int(text[2:], 8)
    if _FLOAT.match(text) and not _INTEGER.match(text):
        return float(text)
    return text


def trap(text: str) -> str:
    """What a YAML 1.1 reader would take this plain scalar for, or an empty string."""
    if _OLD_BOOLEAN.match(text):
        return "a boolean"
    if _OLD_OCTAL.match(text):
        return "an octal number"
    if _OLD_SEXAGESIMAL.match(text):
        return "a number to the base 60"
    if _OLD_UNDERSCORED.match(text):
        return "a number"
    return ""
