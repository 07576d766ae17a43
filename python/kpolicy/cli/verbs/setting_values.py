"""Readers of the values of settings, from flags and from variables."""

from __future__ import annotations

import os
from argparse import ArgumentTypeError
from collections.abc import Callable
from pathlib import Path

from kpolicy.policy.authority import extender_hosts


def whole(text: str) -> int:
    try:
        return int(text)
    except ValueError as error:
        raise ArgumentTypeError(f"`{text}` is not a whole number") from error


def rate(text: str) -> int:
    from kpolicy.telemetry.limits import TRACES_PER_SECOND_MAX

    rate = whole(text)
    if not 0 <= rate <= TRACES_PER_SECOND_MAX:
        raise ArgumentTypeError(f"`{text}` is not between 0 and {TRACES_PER_SECOND_MAX}")
    return rate


def seconds(text: str) -> float:
    """A number of seconds, as `10`, `0.5` or `10s`."""
    try:
        return float(text.removesuffix("s"))
    except ValueError as error:
        raise ArgumentTypeError(f"`{text}` is not a number of seconds") from error


def yes_or_no(text: str) -> bool:
    words = {"1": True, "true": True, "yes": True, "on": True}
    words |= {"0": False, "false": False, "no": False, "off": False}
    if text.lower() not in words:
        raise ArgumentTypeError(f"`{text}` is neither true nor false")
    return words[text.lower()]


def size(text: str) -> str:
    """Bytes, such as 10Gi."""
    from kpolicy.journal.disk_size import bytes_of

    try:
        bytes_of(text)
    except ValueError as error:
        raise ArgumentTypeError(str(error)) from error
    return text


def names(text: str) -> tuple[str, ...]:
    """Names separated by commas. No name at all would be taken for a setting that is not set."""
    listed = tuple(part.strip() for part in text.split(",") if part.strip())
    if not listed:
        raise ArgumentTypeError(f"`{text}` has no name")
    return listed


def classes(text: str) -> tuple[str, ...]:
    """As `names`; the flag may also be repeated."""
    return names(text)


def _checked(text: str, check: Callable[[tuple[str, ...]], object]) -> tuple[str, ...]:
    listed = names(text)
    try:
        check(listed)
    except ValueError as error:
        raise ArgumentTypeError(str(error)) from error
    return listed


def hosts(text: str) -> tuple[str, ...]:
    return _checked(text, extender_hosts)


def field_names(text: str) -> tuple[str, ...]:
    from kpolicy.scheduler.extenders.pod_fields import pod_fields

    return _checked(text, pod_fields)


def paths(text: str) -> tuple[Path, ...]:
    return tuple(Path(part) for part in text.split(os.pathsep) if part)
