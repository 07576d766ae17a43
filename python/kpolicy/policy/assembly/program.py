"""The program document: all rules compiled, as canonical JSON with a hash.

Owns `Program`, the encoding that `docs/internals/program.md` describes, and what a hash tells
apart: what could decide differently, never where it was written. Assumes profiles that are resolved
and expressions that are compiled. Must not know YAML, CEL or the engine.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Final

from kpolicy.policy.models.scheduling_policy import Extender, Limits, in_largest_unit

FORMAT: Final = 1
# Where something stands in which file: cited in messages, and without say in any decision. No map
# of the document has keys that an author chose, so these are ours wherever they are.
_OF_PLACES: Final = frozenset({"place", "spans"})


@dataclass(frozen=True, slots=True)
class ProgramProfile:
    """What the shell must know of a profile: the engine knows the rest."""

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
    """Sorted keys, no spaces, UTF-8: equal documents have equal bytes."""
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
    written = {"costPerNode": limits.cost_per_node, "costPerCycle": limits.cost_per_cycle}
    return {name: units for name, units in written.items() if units is not None}


def encode(
    policies: Sequence[str],
    tie_break: str,
    profiles: Sequence[dict[str, Any]],
    extenders: Sequence[tuple[Extender, ...]],
    limits: Sequence[Limits] = (),
) -> Program:
    """The program; its hash is over what decides: the document without places, and the extenders.
    `limits` are those of the policies, in their order."""
    document: dict[str, Any] = {
        "format": FORMAT,
        "policies": list(policies),
        "tieBreak": tie_break,
        "profiles": list(profiles),
    }
    costs = [_costs(one) for one in limits]
    if any(costs):
        document["limits"] = costs
    asked = [[_meant(one) for one in of_profile] for of_profile in extenders]
    meaning = canonical([_without_places(document), asked])
    document["hash"] = f"sha256:{sha256(meaning).hexdigest()}"
    shells = tuple(
        ProgramProfile(profile["schedulerName"], extended)
        for profile, extended in zip(profiles, extenders, strict=True)
    )
    return Program(document["hash"], canonical(document), tuple(policies), shells)
