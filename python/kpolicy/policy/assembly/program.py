"""The program document: all compiled rules as canonical JSON with a hash.

Programs that decide the same have the same hash: places in files do not count. The encoding is
described in `docs/internals/program.md`.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Final

from kpolicy.policy.models.scheduling_policy import Extender, Limits, in_largest_unit

FORMAT: Final = 1
# Places in files are cited in messages and decide nothing. No map of the document has keys that an
# author chose, so these keys are always ours.
_OF_PLACES: Final = frozenset({"place", "spans"})


@dataclass(frozen=True, slots=True)
class ProgramProfile:
    """The part of a profile that Python needs; the engine has the rest."""

    scheduler_name: str
    extenders: tuple[Extender, ...]


@dataclass(frozen=True, slots=True)
class Program:
    """`bytes` is what the engine loads; `hash` names it."""

    hash: str
    bytes: bytes
    policies: tuple[str, ...]
    profiles: tuple[ProgramProfile, ...]

    @property
    def scheduler_names(self) -> tuple[str, ...]:
        return tuple(profile.scheduler_name for profile in self.profiles)


def canonical(document: object) -> bytes:
    """JSON with sorted keys, without spaces, in UTF-8: equal documents have equal bytes."""
    return json.dumps(
        document, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
    ).encode("utf-8")


def _without_places(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: _without_places(v) for k, v in value.items() if k not in _OF_PLACES}
    return [_without_places(item) for item in value] if isinstance(value, list) else value


def _meant(extender: Extender) -> dict[str, Any]:
    return extender.model_dump() | {"http_timeout": in_largest_unit(extender.http_timeout)}


def _costs(limits: Limits) -> dict[str, int]:
    fields = {"cost_per_node", "cost_per_cycle"}
    return limits.model_dump(by_alias=True, exclude_none=True, include=fields)


def encode(
    policies: Sequence[str],
    tie_break: str,
    profiles: Sequence[dict[str, Any]],
    extenders: Sequence[tuple[Extender, ...]],
    limits: Sequence[Limits] = (),
) -> Program:
    """The program. Its hash covers the document without places, and the extenders. `limits` are
    those of the policies, in their order."""
    document: dict[str, Any] = {
        "format": FORMAT,
        "policies": list(policies),
        "tieBreak": tie_break,
        "profiles": list(profiles),
    }
    costs = list(map(_costs, limits))
    if any(costs):
        document["limits"] = costs
    asked = [list(map(_meant, of_profile)) for of_profile in extenders]
    meaning = canonical([_without_places(document), asked])
    document["hash"] = f"sha256:{sha256(meaning).hexdigest()}"
    shells = tuple(
        ProgramProfile(profile["schedulerName"], extended)
        for profile, extended in zip(profiles, extenders, strict=True)
    )
    return Program(document["hash"], canonical(document), tuple(policies), shells)
