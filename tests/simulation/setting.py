"""Decides from the seed what a world has: where policies are, whether there are volumes, devices,
extenders and plugins, and what stays broken at the end.

Worlds without trouble measure how long pods wait (I5); provisioners, drivers and extenders have no
part in them. Plugins may have, and then only pods that they never hamper are measured.
"""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import Final

from tests.simulation.remains import Remains

PLUGINS_SHARE: Final = 0.3


@dataclass(frozen=True, slots=True)
class Setting:
    by_config_map: bool = False
    has_volumes: bool = False
    has_extenders: bool = False
    has_budgets: bool = False
    has_devices: bool = False
    remains: Remains = Remains.NOTHING
    has_plugins: bool = False


def setting_of(chance: Random, *, calm: bool) -> Setting:
    by_config_map = chance.random() < 0.4
    has_volumes = chance.random() < 0.4
    has_extenders = chance.random() < 0.25
    has_budgets = chance.random() < 0.3
    is_core_only = chance.random() < 0.3
    if calm:
        has_plugins = chance.random() < PLUGINS_SHARE
        return Setting(by_config_map, has_budgets=has_budgets, has_plugins=has_plugins)
    possible = [kind for kind in Remains if kind is not Remains.NOTHING]
    if not by_config_map:
        possible = [setting for setting in possible if not setting.is_about_the_map]
    if not has_extenders:
        possible.remove(Remains.EXTENDER_DEAD)
    remains = chance.choice(possible) if is_core_only else Remains.NOTHING
    has_devices = chance.random() < 0.4
    return Setting(
        by_config_map,
        has_volumes,
        has_extenders,
        has_budgets,
        has_devices,
        remains,
        has_plugins=chance.random() < PLUGINS_SHARE,
    )
