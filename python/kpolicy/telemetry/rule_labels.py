"""What metrics call rules. Tenants name their rules as they like, so those of a tenant have one
name together, and only so many tenants have a name of their own.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from kpolicy.telemetry.limits import TENANTS_NAMED_MAX

# The engine calls a tenant's rule `TENANT/RULE`, and what it counts of them together
# `tenant:TENANT`. Names that policies give have neither sign.
_BETWEEN: Final = "/"
_TENANT: Final = "tenant:"
OTHER_TENANTS: Final = "tenants:other"


class RuleLabels:
    """Of one process: a tenant keeps its name, so that what is counted under it only goes up."""

    def __init__(self) -> None:
        self._named: set[str] = set()

    def of(self, rule: str) -> str:
        tenant, between, _ = rule.partition(_BETWEEN)
        label = _TENANT + tenant if between else rule
        if not label.startswith(_TENANT) or label in self._named:
            return label
        if len(self._named) == TENANTS_NAMED_MAX:
            return OTHER_TENANTS
        self._named.add(label)
        return label

    def distinct(self, rules: Iterable[str]) -> list[str]:
        """Of all these rules, each once."""
        return sorted(set(map(self.of, rules)))

    def added_up(self, counts: Mapping[tuple[str, ...], float]) -> dict[tuple[str, ...], float]:
        """Counts by rule and anything else, as they are shown."""
        shown: dict[tuple[str, ...], float] = {}
        for (rule, *others), count in counts.items():
            labels = (self.of(rule), *others)
            shown[labels] = shown.get(labels, 0) + count
        return shown
