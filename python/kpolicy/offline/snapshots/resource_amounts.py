"""Kubernetes quantities as exact numbers, what a pod requests, and what a node has.

These sums are for figures. The engine has its own.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from fractions import Fraction
from functools import lru_cache
from typing import Any, Final

PODS: Final = "pods"
ENDED: Final = frozenset({"Succeeded", "Failed"})
# The resources that pod-level requests may name.
_POD_LEVEL: Final = ("cpu", "memory")
_NOTHING: Final = Fraction(0)
_ONE: Final = Fraction(1)

Amounts = dict[str, Fraction]


def requested(pod: Mapping[str, Any]) -> Amounts:
    """Including one of `pods`."""
    spec = pod.get("spec") or {}
    if _is_simple(spec):
        return {**_requests(spec["containers"][0]), PODS: _ONE}
    running: Amounts = {}
    for container in spec.get("containers") or ():
        add(running, _requests(container))
    sidecars: Amounts = {}
    peak: Amounts = {}
    for container in spec.get("initContainers") or ():
        at_start = dict(sidecars)
        add(at_start, _requests(container))
        if container.get("restartPolicy") == "Always":
            sidecars = at_start
        peak = _largest(peak, at_start)
    add(running, sidecars)
    total = _largest(running, peak)
    pod_level = _requests(spec)
    total |= {name: amount for name, amount in pod_level.items() if _is_pod_level(name)}
    add(total, _amounts(spec.get("overhead")))
    add(total, {PODS: _ONE})
    return total


def allocatable(node: Mapping[str, Any]) -> Amounts:
    status = node.get("status") or {}
    return _amounts(status.get("allocatable") or status.get("capacity"))


def add(to: Amounts, amounts: Mapping[str, Fraction]) -> None:
    for name, amount in amounts.items():
        to[name] = to.get(name, _NOTHING) + amount


def _is_simple(spec: Mapping[str, Any]) -> bool:
    """One container and nothing else that counts, as most pods are: there is nothing to add up."""
    return len(spec.get("containers") or ()) == 1 and not any(
        spec.get(name) for name in ("initContainers", "resources", "overhead")
    )


def _is_pod_level(name: str) -> bool:
    return name in _POD_LEVEL or name.startswith("hugepages-")


def _requests(holder: Mapping[str, Any]) -> Amounts:
    """A limit without a request is a request."""
    resources = holder.get("resources") or {}
    return _amounts(resources.get("limits")) | _amounts(resources.get("requests"))


def _amounts(written: Mapping[str, Any] | None) -> Amounts:
    return {name: quantity(amount) for name, amount in (written or {}).items()}


def _largest(one: Amounts, other: Amounts) -> Amounts:
    names = {**one, **other}
    return {name: max(one.get(name, _NOTHING), other.get(name, _NOTHING)) for name in names}


_FORM: Final = re.compile(
    r"([+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+))(?:([eE][+-]?[0-9]{1,3})|([KMGTPE]i|[numkMGTPE]|))\Z"
)
_SCALES: Final = {
    "n": Fraction(1, 10**9),
    "u": Fraction(1, 10**6),
    "m": Fraction(1, 1000),
    "": Fraction(1),
    **{letter: Fraction(1000 ** (power + 1)) for power, letter in enumerate("kMGTPE")},
    **{f"{letter}i": Fraction(1024 ** (power + 1)) for power, letter in enumerate("KMGTPE")},
}


@lru_cache(maxsize=4096)
def quantity(written: str | float) -> Fraction:
    """In whole units (cores, bytes, pieces); 0 for what is no quantity."""
    found = _FORM.match(str(written).strip())
    if found is None:
        return Fraction(0)
    number, exponent, suffix = found.groups()
    scale = Fraction(10) ** int(exponent[1:]) if exponent else _SCALES[suffix or ""]
    return Fraction(number) * scale
