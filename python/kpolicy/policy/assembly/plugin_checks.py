"""Findings about the plugins that policies name: the process must have loaded them.

Where it is not known what a process will load, a policy may name any. A configuration of
kube-scheduler may not even then: most of what it can name are plugins in Go.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from kpolicy.diagnostics import Diagnostic, Severity, did_you_mean
from kpolicy.policy.assembly.read_policy import Policy
from kpolicy.policy.authority import Authority
from kpolicy.policy.models.foreign_plugins import unknown_plugin
from kpolicy.policy.models.plugin_sets import PluginChoice, PluginSets
from kpolicy.policy.models.scheduling_policy import KIND
from kpolicy.policy.yaml.nodes import Path

_ALL: Final = "*"
_EVERYWHERE: Final = "multiPoint"
_LOADED_HOW: Final = "`kpolicy run --plugin=MODULE:CLASS` loads one"


def check_plugins(policies: Iterable[Policy], authority: Authority) -> Iterator[Diagnostic]:
    """`policies`: also those that others stand on."""
    loaded = authority.plugins
    for policy in policies:
        sets = policy.model.spec.plugins
        if sets is None or (loaded is None and policy.kind == KIND):
            continue
        for field, info in PluginSets.model_fields.items():
            point = str(info.alias)
            named = list(_named(getattr(sets, field), ("spec", "plugins", point)))
            unknown = [(name, path) for name, path in named if name not in (loaded or ())]
            # A configuration that is not for kpolicy's plugins: as of all its other points.
            if len(unknown) == len(named) > 0 and policy.kind != KIND and point != _EVERYWHERE:
                message = f"`{point}` is done in kpolicy's own way; this is not used"
                at = ("spec", "plugins", point)
                yield policy.remark("KP604", message, at, severity=Severity.INFO)
            for name, path in unknown:
                message, hint = _unknown(policy, name, loaded or frozenset())
                yield policy.remark("KP103", message, path, hint=hint)


def _named(choice: PluginChoice, at: Path) -> Iterator[tuple[str, Path]]:
    for side, plugins in (("enabled", choice.enabled), ("disabled", choice.disabled)):
        for index, plugin in enumerate(plugins):
            if plugin.name != _ALL or side == "enabled":
                yield plugin.name, (*at, side, index, "name")


def _unknown(policy: Policy, name: str, loaded: frozenset[str]) -> tuple[str, str]:
    near = did_you_mean(name, loaded)
    if policy.kind != KIND and not near:
        unknown = unknown_plugin(name)
        return unknown.message, unknown.hint
    return f"no plugin `{name}` is loaded", near or _LOADED_HOW
