"""Checks the constant operands of `time.within(cron, duration, zone)`.

The engine reads the same dialect (`rust/kpolicy-cel/src/value/cron.rs`), that of a CronJob's
schedule: five fields, 0 is Sunday, and `@daily` and the like.
"""

from __future__ import annotations

import re
from typing import Final

from kpolicy.diagnostics import did_you_mean
from kpolicy.policy.cel.scope import Scope
from kpolicy.policy.cel.tree import Call, Tree, text_of

_CHARACTERS_MAX: Final = 256
_NAMED: Final = frozenset(
    {"@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly"}
)
_MONTHS: Final = [
    *("jan", "feb", "mar", "apr", "may", "jun"),
    *("jul", "aug", "sep", "oct", "nov", "dec"),
]
_WEEKDAYS: Final = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"]
# What each field is, the least and the largest number, and names that stand for numbers.
_FIELDS: Final[tuple[tuple[str, int, int, list[str]], ...]] = (
    ("minute", 0, 59, []),
    ("hour", 0, 23, []),
    ("day of the month", 1, 31, []),
    ("month", 1, 12, _MONTHS),
    ("day of the week", 0, 6, _WEEKDAYS),
)
_FIGURES: Final = re.compile(r"\d{1,2}", re.ASCII)
_OFFSET: Final = re.compile(r"[+-]?\d{1,2}:\d{2}", re.ASCII)
_DURATION: Final = re.compile(r"(\d+(?:\.\d*)?|\.\d+)(ns|us|µs|μs|ms|s|m|h)", re.ASCII)
_SECONDS: Final = {
    "ns": 1e-9,
    "us": 1e-6,
    "µs": 1e-6,
    "μs": 1e-6,
    "ms": 1e-3,
    "s": 1.0,
    "m": 60.0,
    "h": 3600.0,
}
_MINUTE_S: Final = 60
_OPEN_S_MAX: Final = 31 * 86_400


def check_window(scope: Scope, call: Call) -> Tree:
    """The call, or an error if one of its constant operands can never be read."""
    _, cron, open_for, *zones = call.args
    found: Tree = call
    if (text := text_of(cron)) is not None and (why := cron_trouble(text)):
        message = f"`{text}` is not a cron expression: {why}"
        hint = "minute, hour, day of the month, month, day of the week: `0 22 * * 1-5`"
        found = scope.report("KP207", message, cron.span, hint)
    if (seconds := _seconds(open_for)) is not None and not _MINUTE_S <= seconds <= _OPEN_S_MAX:
        message = "a window is open for at least 1m and at most 744h"
        found = scope.report("KP207", message, open_for.span, "`duration('8h')`")
    for zone in zones:
        if (name := text_of(zone)) is not None and (hint := zone_trouble(name)):
            message = f"`{name}` is not a time zone"
            found = scope.report("KP207", message, zone.span, hint)
    return found


def cron_trouble(text: str) -> str:
    """What is wrong with a cron expression; empty if nothing is."""
    if len(text.encode("utf-8", "replace")) > _CHARACTERS_MAX:
        return f"it has more than {_CHARACTERS_MAX} characters"
    if text.strip().startswith("@"):
        known = ", ".join(sorted(_NAMED))
        return "" if text.strip() in _NAMED else f"the words are {known}"
    fields = text.split()
    if len(fields) != len(_FIELDS):
        return f"it has {len(fields)} fields, not {len(_FIELDS)}"
    for written, (what, least, most, names) in zip(fields, _FIELDS, strict=True):
        if not all(_is_item(item, least, most, names) for item in written.split(",")):
            named = f" or {names[0]} to {names[-1]}" if names else ""
            sunday = "; Sunday is 0" if names is _WEEKDAYS else ""
            return f"`{written}` is no {what}, which is {least} to {most}{named}{sunday}"
    return ""


def _is_item(item: str, least: int, most: int, names: list[str]) -> bool:
    span, has_step, step = item.partition("/")
    if has_step and not (_FIGURES.fullmatch(step) and int(step)):
        return False
    if span in ("*", "?"):
        return True
    first, has_last, last = span.partition("-")
    low = _number(first, least, names)
    high = _number(last, least, names) if has_last else low
    return low is not None and high is not None and least <= low <= high <= most


def _number(word: str, least: int, names: list[str]) -> int | None:
    if word.lower() in names:
        return names.index(word.lower()) + least
    return int(word) if _FIGURES.fullmatch(word) else None


def zone_trouble(name: str) -> str:
    """What to write instead of a name that is no time zone; empty if it is one."""
    from kpolicy.time_zones import TIME_ZONES  # noqa: PLC0415  few policies name one

    if name in ("", "UTC") or name in TIME_ZONES or _OFFSET.fullmatch(name):
        return ""
    return (
        did_you_mean(name, TIME_ZONES) or "a name such as `Europe/Berlin`, or an offset: `+02:00`"
    )


def _seconds(tree: Tree) -> float | None:
    """How long a constant duration is."""
    if not isinstance(tree, Call) or tree.name != "to_duration_string":
        return None
    text = text_of(tree.args[0])
    if text is None:
        return None
    parts = _DURATION.findall(text)
    length = sum(float(number) * _SECONDS[unit] for number, unit in parts)
    return -length if text.startswith("-") else length
