"""Health checks: their answers, as all Kubernetes components give them, and the record of them that
kube-scheduler serves on /metrics/slis.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from typing import Final

from kpolicy.telemetry.metrics import Counter, Gauge, Registry, process_start

FAILED: Final = 500  # as the health endpoints of all Kubernetes components


@dataclass(frozen=True, slots=True)
class Check:
    name: str
    failing: Callable[[], str]  # why it fails; empty if it passes


@dataclass(frozen=True, slots=True)
class Checks:
    """`healthz` and `livez` cause a restart where they are probed; `readyz` only stops traffic."""

    healthz: Iterable[Check] = ()
    livez: Iterable[Check] = ()
    readyz: Iterable[Check] = ()


@dataclass(frozen=True, slots=True)
class Health:
    status: int
    text: str


class HealthRecord:
    """The last result of each check, and how often it passed and failed when its group was asked,
    under the names and texts of kube-scheduler's /metrics/slis."""

    def __init__(self) -> None:
        self._last = Gauge(
            "kubernetes_healthcheck",
            "[STABLE] This metric records the result of a single healthcheck.",
            ("name", "type"),
        )
        self._total = Counter(
            "kubernetes_healthchecks_total",
            "[STABLE] This metric records the results of all healthcheck.",
            ("name", "status", "type"),
        )
        start = process_start("[ALPHA] Start time of the process since unix epoch in seconds.")
        self.registry = Registry((self._last, self._total, start))

    def add(self, group: str, name: str, *, passed: bool) -> None:
        self._last.set(int(passed), (name, group))
        self._total.add((name, "success" if passed else "error", group))


def judge(
    group: str,
    checks: Iterable[Check],
    *,
    verbose: bool,
    exclude: Collection[str] = (),
    record: HealthRecord | None = None,
) -> Health:
    """Return `ok`, or a line for each check with `[+]` or `[-]` and the reason if it fails."""
    lines, has_failed = [], False
    for check in checks:
        is_excluded = check.name in exclude
        reason = "" if is_excluded else check.failing()
        if record is not None and not is_excluded:
            record.add(group, check.name, passed=not reason)
        has_failed |= bool(reason)
        result = f"failed: {reason}" if reason else "excluded: ok" if is_excluded else "ok"
        lines.append(f"[{'-' if reason else '+'}]{check.name} {result}")
    if has_failed or verbose:
        lines += [f"{group} check {'failed' if has_failed else 'passed'}", ""]
    return Health(FAILED if has_failed else 200, "\n".join(lines) if lines[-1:] == [""] else "ok")
