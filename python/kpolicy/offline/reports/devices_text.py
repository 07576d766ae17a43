"""Devices for the claims of a pod: those that a node would give, and what keeps others from it."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from kpolicy.offline.reports.columns import columns, counted, largest_first, listed

_USERS_SHOWN: Final = 3
# Counts of devices that a request accepts and cannot have.
_KEPT: Final = {
    "tainted": "tainted",
    "short": "with too little capacity",
    "outOfCounters": "with too little left of their counters",
}


@dataclass(frozen=True, slots=True)
class Supply:
    """What the nodes that have too few devices have for one request."""

    request: str
    wanted: str
    most_free: int
    seen: int
    accepted: int
    # Why the others are not free.
    others: str


def device_supplies(nodes: Iterable[Mapping[str, Any]]) -> list[Supply]:
    """For each request of a claim, what the nodes have that have too few devices."""
    found: dict[str, list[Mapping[str, Any]]] = defaultdict(list)
    for node in nodes:
        for supply in node.get("devices", ()):
            found[f"{supply['claim']}, request {supply['request']}"].append(supply)
    return [_supply(request, supplies) for request, supplies in found.items()]


def _supply(request: str, supplies: Sequence[Mapping[str, Any]]) -> Supply:
    def sum_of(part: str) -> int:
        return sum(supply[part] for supply in supplies)

    users = sorted({user for supply in supplies for user in supply["usedBy"]})
    refused: Counter[str] = Counter()
    for supply in supplies:
        refused.update(supply["refusedBy"])
    others = [f"{count:,} refused by {name}" for name, count in largest_first(refused)]
    if users:
        others.append(f"{sum_of('inUse'):,} in use by {listed(users, _USERS_SHOWN)}")
    others += [f"{sum_of(part):,} {words}" for part, words in _KEPT.items() if sum_of(part)]
    return Supply(
        request,
        "all" if supplies[0]["isAll"] else f"{supplies[0]['wanted']:,}",
        max(supply["free"] for supply in supplies),
        sum_of("seen"),
        sum_of("accepted"),
        "; ".join(others),
    )


def together_text(nodes: Iterable[Mapping[str, Any]]) -> str:
    """On how many nodes each request by itself would have enough; empty if on none."""

    def has_enough(supply: Mapping[str, Any]) -> bool:
        return bool(supply["free"] >= supply["wanted"] > 0)

    count = sum(all(map(has_enough, node["devices"])) for node in nodes if node.get("devices"))
    have = "has" if count == 1 else "have"
    return (
        f"{counted(count, 'node')} {have} enough for each request by itself, but not for all "
        "requests together with the constraints of their claims"
        if count
        else ""
    )


def devices_text(explained: Mapping[str, Any]) -> list[str]:
    """The devices that the chosen node would give; what nodes have that have too few; and claims
    whose devices are elsewhere."""
    nodes = explained.get("nodes", [])
    lines = _titled(
        f"devices that {explained.get('selected')} would give", chosen_devices(explained)
    )
    supplies = [
        [
            supply.request,
            f"wants {supply.wanted}, a node has at most {supply.most_free:,} free",
            f"of {supply.seen:,} seen, {supply.accepted:,} accepted",
            supply.others,
        ]
        for supply in device_supplies(nodes)
    ]
    lines += _titled("devices of nodes that have too few", supplies)
    if together := together_text(nodes):
        lines.append(f"    {together}")
    elsewhere = [[claim] for claim in claims_elsewhere(explained)]
    return lines + _titled("claims whose devices are on other nodes", elsewhere)


def claims_elsewhere(explained: Mapping[str, Any]) -> list[str]:
    """Allocated claims that keep the pod from nodes."""
    return list(explained.get("dra", {}).get("unavailable", ()))


def chosen_devices(explained: Mapping[str, Any]) -> list[list[str]]:
    """Claim and request, and the device that the chosen node would give."""
    selected = explained.get("selected")
    nodes = explained.get("nodes", ()) if selected else ()
    allocations = next((n.get("allocations", ()) for n in nodes if n["name"] == selected), ())
    return [
        [
            f"{own['claim']}, request {each['request']}",
            f"{each['driver']}/{each['pool']}/{each['device']}",
        ]
        for own in allocations
        for each in own["result"]["devices"]["results"]
    ]


def _titled(title: str, rows: Sequence[Sequence[str]]) -> list[str]:
    return ["", f"  {title}", *columns(rows, indent="    ")] if rows else []
