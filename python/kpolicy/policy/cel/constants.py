"""Checks constant operands: patterns, quantities, times, selectors, addresses, versions, URLs.

KP207 reports a text that the engine could never read, KP402 a pattern that is not constant. The
engine reads the text again and has the last word.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable
from typing import Final

from kpolicy.policy.cel import pattern
from kpolicy.policy.cel.functions_standard import Family
from kpolicy.policy.cel.object_types import Time
from kpolicy.policy.cel.scope import Scope
from kpolicy.policy.cel.tree import Call, Tree, text_of

_QUANTITY: Final = re.compile(
    r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[numkMGTPE]|[KMGTPE]i|[eE][+-]?\d+)?", re.ASCII
)
_DURATION: Final = re.compile(
    r"[+-]?(?:0|(?:(?:\d+(?:\.\d*)?|\.\d+)(?:ns|us|µs|μs|ms|s|m|h))+)", re.ASCII
)
_TIMESTAMP: Final = re.compile(
    r"\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(?:\.\d+)?(?:[Zz]|[+-]\d\d:\d\d)", re.ASCII
)
_WORD: Final = r"[A-Za-z0-9][A-Za-z0-9._/-]*"
_VALUE: Final = r"[A-Za-z0-9._-]*"
_REQUIREMENT: Final = (
    rf"(?:!\s*{_WORD}|{_WORD}\s*(?:(?:==?|!=)\s*{_VALUE}|(?:not)?in\s*\([^()]*\))?)"
)
_SELECTOR: Final = re.compile(rf"\s*(?:{_REQUIREMENT}(?:\s*,\s*{_REQUIREMENT})*)?\s*", re.ASCII)
_PREFIX_LENGTH: Final = re.compile(r"0|[1-9]\d{0,2}", re.ASCII)
# What every URL begins with; the engine reads the rest.
_URL: Final = re.compile(r"/|\*$|[A-Za-z][A-Za-z0-9+.-]*:", re.ASCII)
_NUMBER: Final = r"(?:0|[1-9]\d*)"
_PART: Final = r"[0-9A-Za-z-]+"
_PRERELEASE: Final = rf"(?:{_NUMBER}|\d*[A-Za-z-][0-9A-Za-z-]*)"
_SEMVER: Final = re.compile(
    rf"{_NUMBER}\.{_NUMBER}\.{_NUMBER}"
    rf"(?:-{_PRERELEASE}(?:\.{_PRERELEASE})*)?(?:\+{_PART}(?:\.{_PART})*)?",
    re.ASCII,
)


def _ip(text: str, *, is_range: bool = False) -> str:
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return " "
    if "%" in text:
        return "a zone is not allowed"
    is_mapped = address.version == 6 and address.ipv4_mapped is not None
    return "IPv4 inside IPv6 is not allowed" if is_mapped and (is_range or "." in text) else ""


def _cidr(text: str) -> str:
    address, slash, bits = text.rpartition("/")
    if not slash or _PREFIX_LENGTH.fullmatch(bits) is None:
        return " "
    bits_max = 128 if ":" in address else 32
    why = "" if int(bits) <= bits_max else f"the prefix has at most {bits_max} bits"
    return _ip(address, is_range=True) or why


def _form(form: re.Pattern[str]) -> Callable[[str], str]:
    return lambda text: "" if form.fullmatch(text) else " "


# By name: says why a text is refused (a blank: no more than that it is), and what is expected.
_CHECKS: Final[dict[str, tuple[Callable[[str], str], str]]] = {
    "pattern": (pattern.refusal, "a regular expression of RE2 syntax"),
    "quantity": (_form(_QUANTITY), "a quantity such as 500m"),
    "duration": (_form(_DURATION), "a duration such as 1h30m"),
    "timestamp": (
        _form(_TIMESTAMP),
        "a timestamp such as 2026-11-01T10:00:00Z",
    ),
    "ip": (_ip, "an IP address such as 10.0.0.1 or fd00::1"),
    "cidr": (_cidr, "a range of addresses such as 10.0.0.0/8"),
    "url": (
        lambda text: "" if _URL.match(text) else " ",
        "a URL such as https://example.com/path, or an absolute path",
    ),
    "semver": (
        _form(_SEMVER),
        "a version such as 1.2.3; `semver(text, true)` also takes v1.2",
    ),
    "selector": (
        _form(_SELECTOR),
        "a label selector such as a=b,c in (d,e)",
    ),
}


def check_constant(scope: Scope, family: Family, call: Call) -> Tree:
    """The call, or an error if its constant operand can never be read."""
    if family.pattern is not None:
        written = call.args[family.pattern]
        if scope.environment.constant_patterns and written.time > Time.PARAMS:
            return scope.report(
                "KP402",
                "a regular expression must be constant",
                written.span,
                "`startsWith`, or list the patterns in params",
            )
    if not family.checked or not call.args:
        return call
    operand = call.args[family.pattern or 0]
    text = text_of(operand)
    # A version that is normalized first is read by the engine alone.
    if text is None or (family.checked == "semver" and len(call.args) > 1):
        return call
    check, expected = _CHECKS[family.checked]
    why = check(text)
    detail = f": {why.strip()}" if why.strip() else ""
    message = f"`{text}` is not {expected}{detail}"
    return scope.report("KP207", message, operand.span) if why else call
