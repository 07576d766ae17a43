"""Health checks by name, and their answer in the form Kubernetes' components give it.

Owns `Check`, the three groups and the text. Pure: a check gives a reason, or an empty string.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from typing import Final

FAILED: Final = 500  # as the health endpoints of all Kubernetes components


@dataclass(frozen=True, slots=True)
class Check:
    name: str
    failing: Callable[[], str]  # why it fails; empty while it does not


@dataclass(frozen=True, slots=True)
class Checks:
    """`healthz` restarts us where it is probed, `readyz` only takes us out of service."""

    healthz: Iterable[Check] = ()
    livez: Iterable[Check] = ()
    readyz: Iterable[Check] = ()


@dataclass(frozen=True, slots=True)
class Health:
    status: int
    text: str


def ping() -> Check:
    return Check("ping", lambda: "")


def judge(
    group: str, checks: Iterable[Check], *, verbose: bool, exclude: Collection[str] = ()
) -> Health:
    """`ok`, or each check on a line with `[+]` or `[-]` and the reason of those that fail."""
    failed = False
    lines = []
    for check in checks:
        if check.name in exclude:
            lines.append(f"[+]{check.name} excluded: ok")
            continue
        reason = check.failing()
        if reason:
            failed = True
            lines.append(f"[-]{check.name} failed: {reason}")
        else:
            lines.append(f"[+]{check.name} ok")
    if failed:
        return Health(FAILED, "\n".join([*lines, f"{group} check failed", ""]))
    if verbose:
        return Health(200, "\n".join([*lines, f"{group} check passed", ""]))
    return Health(200, "ok")
