"""Findings about the plugins that policies name: the process must have loaded them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from kpolicy.diagnostics import Diagnostic, did_you_mean
from kpolicy.policy.assembly.read_policy import Policy
from kpolicy.policy.authority import Authority
from kpolicy.policy.models.foreign_plugins import unknown_plugin
from kpolicy.policy.models.plugin_sets import PluginSets
from kpolicy.policy.models.scheduling_policy import KIND

_ALL: Final = "*"
_LOADED_HOW: Final = "`kpolicy run --plugin=MODULE:CLASS` loads one"


def check_plugins(policies: Iterable[Policy], authority: Authority) -> Iterator[Diagnostic]:
    """`policies`: also those that others stand on."""
    for policy in policies:
        sets = policy.model.spec.plugins
        if sets is None:
            continue
        for field, info in PluginSets.model_fields.items():
            choice = getattr(sets, field)
            for side in ("enabled", "disabled"):
                for index, plugin in enumerate(getattr(choice, side)):
                    path = ("spec", "plugins", str(info.alias), side, index, "name")
                    if plugin.name == _ALL and side == "disabled":
                        continue
                    if plugin.name not in authority.plugins:
                        message, hint = _unknown(policy, plugin.name, authority)
                        yield policy.remark("KP103", message, path, hint=hint)


def _unknown(policy: Policy, name: str, authority: Authority) -> tuple[str, str]:
    near = did_you_mean(name, authority.plugins)
    if policy.kind != KIND and not near:
        unknown = unknown_plugin(name)
        return unknown.message, unknown.hint
    return f"no plugin `{name}` is loaded", near or _LOADED_HOW
