"""What kind of world a seed makes: how policies come, whether there are volumes and extenders, and
what stays broken when the rest is healed.

Owns the shares. Worlds without trouble are there to tell how long pods wait (I5): nobody outside,
provisioner or extender, has a part in that.
"""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

from tests.simulation.remains import Remains


@dataclass(frozen=True, slots=True)
class Setting:
    by_config_map: bool = False
    has_volumes: bool = False
    has_extenders: bool = False
    has_budgets: bool = False
    remains: Remains = Remains.NOTHING


def setting_of(chance: Random, *, calm: bool) -> Setting:
    by_config_map = chance.random() < 0.4
    has_volumes = chance.random() < 0.4
    has_extenders = chance.random() < 0.25
    has_budgets = chance.random() < 0.3
    is_core_only = chance.random() < 0.3
    if calm:
        return Setting(by_config_map, has_budgets=has_budgets)
    possible = [one for one in Remains if one is not Remains.NOTHING]
    if not by_config_map:
        possible = [one for one in possible if not one.is_about_the_map]
    if not has_extenders:
        possible.remove(Remains.EXTENDER_DEAD)
    remains = chance.choice(possible) if is_core_only else Remains.NOTHING
    return Setting(by_config_map, has_volumes, has_extenders, has_budgets, remains)
