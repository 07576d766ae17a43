"""Where the policies of `kpolicy run` come from, by its settings.

Owns turning paths and names into sources. Must not read them.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from kpolicy.cli.run_settings import RunSettings

if TYPE_CHECKING:
    from kpolicy.clock import Clock
    from kpolicy.scheduler.delivery.policy_delivery import GivenPolicies, Keeping
    from kpolicy.scheduler.options import ConfigMapName
    from kpolicy.scheduler.problem_codes import Problem


@dataclass(frozen=True, slots=True)
class Delivered:
    """`shadow` None: nothing is compared."""

    policies: GivenPolicies
    keeping: Keeping
    shadow: GivenPolicies | None = None


def delivery_of(settings: RunSettings, own_namespace: str, clock: Clock) -> Delivered | Problem:
    """ConfigMaps without a namespace are in our own."""
    from kpolicy.scheduler.delivery.policy_delivery import Keeping
    from kpolicy.scheduler.delivery.sources import FixedSource
    from kpolicy.scheduler.problem_codes import Problem

    given = (
        ("policy", settings.policy, settings.policy_configmap),
        ("shadow-policy", settings.shadow_policy, settings.shadow_policy_configmap),
    )
    found: list[GivenPolicies | None] = []
    for flag, paths, name in given:
        source = _given(f"--{flag}-configmap", paths, name, own_namespace, clock)
        if isinstance(source, Problem):
            return source
        found.append(source)
    policies, shadow = found
    status = _status(settings, policies, own_namespace)
    if isinstance(status, Problem):
        return status
    return Delivered(policies or FixedSource(), Keeping(status, settings.policy_cache), shadow)


def _given(
    flag: str, paths: tuple[Path, ...], name: str, own_namespace: str, clock: Clock
) -> GivenPolicies | Problem | None:
    from kpolicy.scheduler.delivery.sources import FileSource
    from kpolicy.scheduler.options import config_map_name

    if name:
        return config_map_name(name, own_namespace, flag)
    return FileSource(paths, clock) if paths else None


def _status(
    settings: RunSettings, policies: GivenPolicies | None, own_namespace: str
) -> ConfigMapName | Problem | None:
    from kpolicy.scheduler.configuration_file import NO_STATUS
    from kpolicy.scheduler.options import ConfigMapName, config_map_name

    if settings.policy_status == NO_STATUS:
        return None
    if settings.policy_status:
        return config_map_name(settings.policy_status, own_namespace, "--policy-status")
    return policies.beside("-status") if isinstance(policies, ConfigMapName) else None
