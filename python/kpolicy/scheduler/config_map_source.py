"""Policies from a ConfigMap that is watched through the API.

Owns which of its keys are policies, and what it means when it is gone or carries none. A change is
told the moment the API server tells it. Must not compile.
"""

from __future__ import annotations

from typing import Final

from kpolicy.policy.yaml.source import Source
from kpolicy.scheduler.config_map_name import ConfigMapName
from kpolicy.scheduler.config_map_sink import HeldConfigMap
from kpolicy.scheduler.config_map_watches import ConfigMapWatches
from kpolicy.scheduler.problem import POLICY_UNREADABLE, Problem

# As in ConfigMap manifests: other keys may be params, or notes.
_POLICY_SUFFIXES: Final = (".yaml", ".yml", ".json", ".cfg")


class ConfigMapSource:
    def __init__(self, name: ConfigMapName, watches: ConfigMapWatches) -> None:
        self.name = name
        self._watches = watches
        self._whole = ConfigMapName(name.namespace, name.name)
        self._seen = {self._whole: ""}

    async def read(self) -> tuple[Source, ...] | Problem:
        held = await self._watches.held(self.name)
        self._seen = self._watches.digests([self._whole])
        if isinstance(held, Problem):
            return held
        if held is None:
            message = f"there is no {self.name.shown}"
            return Problem(POLICY_UNREADABLE, message, "create it, or check --policy-configmap")
        return policies_of(held, self.name.key)

    async def changed(self) -> None:
        await self._watches.differ(self._seen)


def policies_of(held: HeldConfigMap, key: str) -> tuple[Source, ...] | Problem:
    """A source for each key, so that what is wrong is found by the lines of its own text."""
    shown = held.name.shown
    keys = [key] if key else sorted(one for one in held.data if one.endswith(_POLICY_SUFFIXES))
    if key and key not in held.data:
        has = ", ".join(sorted(held.data)) or "none"
        return _carries_none(f"the {shown} has no key `{key}`", f"it has: {has}")
    if not keys:
        hint = "end the name of a key in .yaml, .yml, .json or .cfg, or name it as NS/NAME#KEY"
        return _carries_none(f"the {shown} carries no policy", hint)
    place = f"configmap/{held.name.namespace}/{held.name.name}"
    return tuple(Source(f"{place}/{one}", held.data[one], is_named=bool(key)) for one in keys)


def _carries_none(message: str, hint: str) -> Problem:
    return Problem(POLICY_UNREADABLE, message, hint)
