"""Checks constant operands: patterns, quantities, times, selectors, addresses, versions, URLs.

KP207 reports a text that the engine could never read, KP402 a pattern that is not constant. The
engine reads the text again and has the last word.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable
from typing import Final

from kpolicy.policy.cel.facts import Time
from kpolicy.policy.cel.functions_standard import Family
from kpolicy.policy.cel.scope import Scope
from kpolicy.policy.cel.tree import Call, Tree, text_of

_SUFFIX: Final = r"(?:[numkMGTPE]|[KMGTPE]i|[eE][+-]?\d+)?"
# Figures may be missing, as in the API.
_QUANTITY: Final = rf"[+-]?\d*(?:\.\d*)?{_SUFFIX}(?<=.)"
_AMOUNT: Final = rf"[+-]?(?:\d+(?:\.\d*)?|\.\d+){_SUFFIX}"
_DURATION: Final = r"[+-]?(?:0|(?:(?:\d+(?:\.\d*)?|\.\d+)(?:ns|us|µs|μs|ms|s|m|h))+)"
_TIMESTAMP: Final = r"\d{4}-\d\d-\d\dT\d?\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|[+-]\d\d:\d\d)"
_WORD: Final = r"[A-Za-z0-9][A-Za-z0-9._/-]*"
_VALUE: Final = r"[A-Za-z0-9._-]*"
_REQUIREMENT: Final = (
    rf"(?:!\s*{_WORD}|{_WORD}\s*(?:(?:==?|!=)\s*{_VALUE}|(?:not)?in\s*\([^()]*\))?)"
)
_SELECTOR: Final = rf"\s*(?:{_REQUIREMENT}(?:\s*,\s*{_REQUIREMENT})*)?\s*"
_PREFIX_LENGTH: Final = r"0|[1-9][0-9]{0,2}"
# The beginning of every URL; the engine reads the rest.
_URL: Final = r"/|\*$|[A-Za-z][A-Za-z0-9+.-]*:"
_NUMBER: Final = r"(?:0|[1-9]\d*)"
_PART: Final = r"[0-9A-Za-z-]+"
_PRERELEASE: Final = rf"(?:{_NUMBER}|\d*[A-Za-z-][0-9A-Za-z-]*)"
_SEMVER: Final = (
    rf"{_NUMBER}\.{_NUMBER}\.{_NUMBER}"
    rf"(?:-{_PRERELEASE}(?:\.{_PRERELEASE})*)?(?:\+{_PART}(?:\.{_PART})*)?"
)


def _pattern(text: str) -> str:
    from kpolicy.policy.cel.re2_patterns import refusal  # noqa: PLC0415  few policies have patterns

    return refusal(text)


def _ip(text: str) -> str:
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return " "
    if "%" in text:
        return "a zone is not allowed"
    is_mapped = address.version == 6 and address.ipv4_mapped is not None
    return "IPv4 inside IPv6 is not allowed" if is_mapped else ""


def _cidr(text: str) -> str:
    address, slash, bits = text.rpartition("/")
    if not slash or re.fullmatch(_PREFIX_LENGTH, bits) is None:
        return " "
    bits_max = 128 if ":" in address else 32
    why = "" if int(bits) <= bits_max else f"the prefix has at most {bits_max} bits"
    return _ip(address) or why


def _form(pattern: str) -> Callable[[str], str]:
    return lambda text: "" if re.fullmatch(pattern, text, re.ASCII) else " "


# By name: the function that returns why a text is refused (a blank if there is no more to say), and
# what is expected.
_CHECKS: Final[dict[str, tuple[Callable[[str], str], str]]] = {
    "pattern": (_pattern, "a regular expression of RE2 syntax"),
    "quantity": (_form(_QUANTITY), "a quantity such as 500m"),
    "amount": (_form(_AMOUNT), "a quantity such as 500m"),
    "duration": (_form(_DURATION), "a duration such as 1h30m"),
    "timestamp": (
        _form(_TIMESTAMP),
        "a timestamp such as 2026-11-01T10:00:00Z",
    ),
    "ip": (_ip, "an IP address such as 10.0.0.1 or fd00::1"),
    "cidr": (_cidr, "a range of addresses such as 10.0.0.0/8"),
    "url": (
        lambda text: "" if re.match(_URL, text) else " ",
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
    if family.checked == "window":
        from kpolicy.policy.cel.windows import check_window  # noqa: PLC0415  few policies have windows

        return check_window(scope, call)
    operand = call.args[family.pattern or 0]
    text = text_of(operand)
    # Only the engine reads versions that are normalized first.
    if text is None or (family.checked == "semver" and len(call.args) > 1):
        return call
    check, expected = _CHECKS[family.checked]
    why = check(text)
    detail = f": {why.strip()}" if why.strip() else ""
    message = f"`{text}` is not {expected}{detail}"
    return scope.report("KP207", message, operand.span) if why else call
