"""What a claim on devices says: whether a pod can have it, and whether its devices are ready."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from random import Random
from typing import Any, TypeAlias
from uuid import UUID

Json: TypeAlias = dict[str, Any]


@dataclass(frozen=True, slots=True)
class ClaimUser:
    """The pod that a claim is for."""

    namespace: str
    name: str
    uid: str


@dataclass(frozen=True, slots=True)
class ClaimChange:
    """What has to be true of a claim. `allocation`: None if it is allocated already. `requests` and
    `mappings` are those of a claim that has to be made for extended resources; its name is empty
    then."""

    name: str
    uid: str
    allocation: Json | None
    requests: list[Json]
    mappings: list[Json]


def problem_of(claim: Json, user: ClaimUser, change: ClaimChange) -> str:
    """Why the claim cannot be had; empty if it can."""
    metadata, status = claim["metadata"], claim.get("status") or {}
    key = f"{user.namespace}/{metadata['name']}"
    if change.uid and metadata.get("uid") != change.uid:
        return f"claim {key} got replaced in the meantime"
    if metadata.get("deletionTimestamp"):
        return f"claim {key} got deleted in the meantime"
    is_ours = any(own.get("uid") == user.uid for own in status.get("reservedFor") or ())
    allocation = status.get("allocation")
    if change.allocation is not None and allocation:
        # After a lost answer, it is what we wrote.
        is_written = is_ours and _devices(allocation) == _devices(change.allocation)
        return "" if is_written else f"claim {key} got allocated elsewhere in the meantime"
    if change.allocation is None and not status.get("allocation"):
        return f"claim {key} got deallocated elsewhere in the meantime"
    return ""


def _devices(allocation: Json) -> list[tuple[Any, ...]]:
    results = (allocation.get("devices") or {}).get("results") or ()
    parts = ("request", "driver", "pool", "device")
    return [tuple(result.get(part) for part in parts) for result in results]


def with_share_ids(allocation: Json, random: Random) -> Json:
    """Each share of a device gets an id of its own."""
    results = [
        {**result, "shareID": str(UUID(int=random.getrandbits(128), version=4))}
        if "shareID" in result
        else result
        for result in allocation["devices"].get("results", ())
    ]
    return {**allocation, "devices": {**allocation["devices"], "results": results}}


def readiness_of(claim: Json) -> tuple[str, bool]:
    """Why the devices of a claim will not be ready, and whether they are."""
    status = claim.get("status") or {}
    name = claim["metadata"]["name"]
    for device, conditions in _conditions(status):
        is_true = {own["type"]: own for own in conditions if own.get("status") == "True"}
        for failure in device.get("bindingFailureConditions") or ():
            if failure in is_true:
                reason, message = (is_true[failure].get(part, "") for part in ("reason", "message"))
                why = f"reason={reason}, message={json.dumps(message, ensure_ascii=False)}"
                return f"claim {name} binding failed: {why}", False
        if not set(device["bindingConditions"]) <= is_true.keys():
            return "", False
    return "", True


def _conditions(status: Json) -> Iterator[tuple[Json, list[Json]]]:
    """The devices that drivers have to make ready, with the conditions that they report."""
    allocation = status.get("allocation") or {}
    reported = status.get("devices") or ()
    for device in (allocation.get("devices") or {}).get("results") or ():
        if device.get("bindingConditions"):
            own: Json = next((each for each in reported if _is_of(each, device)), {})
            yield device, list(own.get("conditions") or ())


def _is_of(reported: Json, device: Json) -> bool:
    parts = ("driver", "pool", "device", "shareID")
    return all(reported.get(part) == device.get(part) for part in parts)
