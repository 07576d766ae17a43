"""KubeSchedulerConfiguration as SchedulingPolicy documents, one for each profile.

Plugin sets are merged by the rules of kube-scheduler. The documents keep the spans of the
file.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import chain
from typing import Final, Literal

from kpolicy.diagnostics import Diagnostic, Severity, Span
from kpolicy.policy.codes.registry import remark
from kpolicy.policy.legacy.extender_tls import as_kube_scheduler
from kpolicy.policy.legacy.kubescheduler_versions import (
    Plugins,
    Profile,
    ProfileV1,
    Version,
    version_of,
)
from kpolicy.policy.legacy.process_settings import process_settings
from kpolicy.policy.models.builtins import ALWAYS_ON, BUILTINS, PREEMPTION
from kpolicy.policy.models.foreign_plugins import OWN_PLUGINS, unknown_plugin
from kpolicy.policy.models.plugin_sets import PluginSets
from kpolicy.policy.models.scheduling_policy import API_VERSION, KIND, NO_BASE
from kpolicy.policy.models.validation import validated
from kpolicy.policy.yaml.nodes import (
    Mapping,
    Node,
    Scalar,
    Sequence,
    find,
    first_character,
    items,
    made,
    mapping,
    string,
)

# Extension points whose plugins are not used, and why.
_NOT_USED: Final = {
    **dict.fromkeys(
        ("preEnqueue", "queueSort", "bind", "permit", "reserve", "preBind", "postBind"),
        "is done in kpolicy's own way",
    ),
    "preFilter": "goes with `filter` here",
    "preScore": "goes with `score` here",
}
# Points at which plugins that the process has loaded may be named; the policy says whether it has.
_OPEN_POINTS: Final = frozenset(str(field.alias) for field in PluginSets.model_fields.values())
# The points that prepare what another point decides.
_PREPARES: Final = {"preFilter": "filter", "preScore": "score"}

# Plugins that reject pods at `preFilter` already, and for what.
_REJECTS_BEFORE_NODES: Final = {
    "NodeAffinity": "a node selector that names other nodes",
    "VolumeRestrictions": "claims on volumes that are missing",
    "VolumeBinding": "claims on volumes that are missing or not bound",
    "VolumeZone": "claims on volumes that are missing or not bound",
    "DynamicResources": "claims on devices that are missing or cannot be used",
}

DEFAULT_SCHEDULER: Final = "default-scheduler"


@dataclass(frozen=True, slots=True)
class _Enabled:
    name: str
    weight: int
    # The item of the file; None if only the default profile enables the plugin.
    node: Node | None = None


def default_multi_point() -> tuple[_Enabled, ...]:
    """The plugins of the default profile that filter, score or preempt, in any release."""
    listed = [_Enabled(b.name, b.weight) for b in BUILTINS.values() if b.is_default]
    first_score = next(i for i, plugin in enumerate(listed) if not BUILTINS[plugin.name].filters)
    return (*listed[:first_score], _Enabled(PREEMPTION, 0), *listed[first_score:])


def converted(root: Mapping) -> tuple[list[Mapping], list[Diagnostic]]:
    """The policies of a configuration, and the findings."""
    version = version_of(root)
    if isinstance(version, Diagnostic):
        return [], [version]
    model, tree, findings = validated(version.model, root)
    if model is None or not isinstance(tree, Mapping):
        return [], list(findings)
    pairs: list[tuple[Profile, Node]] = list(
        zip(model.profiles, items(tree.get("profiles")), strict=True)
    ) or [(ProfileV1(), Mapping(tree.entries[0].key.span, ()))]
    extenders, unverified = as_kube_scheduler(tree.get("extenders"))
    profiles = [
        _Profile(version, tree, profile, node, extenders=extenders) for profile, node in pairs
    ]
    diagnostics = [
        *findings,
        *unverified,
        *version.remarks(tree.entries[0].value),
        *process_settings(tree),
        *_name_findings(pairs),
        *chain.from_iterable(profile.findings() for profile in profiles),
    ]
    return [profile.policy() for profile in profiles], diagnostics


def _name_findings(profiles: list[tuple[Profile, Node]]) -> Iterable[Diagnostic]:
    seen: set[str] = set()
    for profile, node in profiles:
        name = profile.scheduler_name
        at = find(node, ("schedulerName",)) or node
        if name is None and len(profiles) > 1:
            yield remark(
                "KP114",
                "`schedulerName` is needed where there are several profiles",
                first_character(node.span),
            )
        elif name is not None and name in seen:
            yield remark("KP104", f"two profiles serve `{name}`", at.span)
        seen.add(name or "")


class _Profile:
    """One profile on its way to a SchedulingPolicy."""

    def __init__(
        self,
        version: Version,
        tree: Mapping,
        profile: Profile,
        node: Node,
        *,
        extenders: Node | None,
    ) -> None:
        self._extenders = extenders
        self._version = version
        self._tree = tree
        self._profile = profile
        self._node = node
        self._name = profile.scheduler_name or DEFAULT_SCHEDULER
        named = find(node, ("schedulerName",))
        self._span = named.span if named is not None else first_character(node.span)
        weights = version.weights
        defaults = (replace(p, weight=weights.get(p.name, p.weight)) for p in default_multi_point())
        self._multi_point = self._merged(defaults, "multiPoint")
        self._args = {
            config.name: find(node, ("pluginConfig", index, "args"))
            for index, config in enumerate(profile.plugin_config)
        }

    def findings(self) -> Iterable[Diagnostic]:
        for point in Plugins.model_fields.values():
            for side in ("enabled", "disabled"):
                for item in items(find(self._node, ("plugins", str(point.alias), side))):
                    name = find(item, ("name",))
                    is_open = str(point.alias) in _OPEN_POINTS
                    if isinstance(name, Scalar) and _is_foreign(name.text) and not is_open:
                        yield _unknown_plugin(name.text, name.span)
        seen: set[str] = set()
        for index, config in enumerate(self._profile.plugin_config):
            at = find(self._node, ("pluginConfig", index, "name"))
            span = at.span if at else self._span
            if config.name not in OWN_PLUGINS:
                yield _unknown_plugin(config.name, span)
            if config.name in seen:
                yield remark("KP104", f"`{config.name}` is configured twice", span)
            seen.add(config.name)
            kind = find(self._node, ("pluginConfig", index, "args", "kind"))
            if isinstance(kind, Scalar) and kind.text != f"{config.name}Args":
                yield remark(
                    "KP103",
                    f"`{kind.text}` are not the arguments of `{config.name}`",
                    kind.span,
                    hint=f"write `{config.name}Args`",
                )
        for point_name, why in _NOT_USED.items():
            node = find(self._node, ("plugins", point_name))
            decides = find(self._node, ("plugins", _PREPARES.get(point_name, "")))
            if node is not None and not (
                (decides and _says_the_same(node, decides)) or self._foreign(point_name)
            ):
                yield remark(
                    "KP604",
                    f"`{point_name}` {why}; this is not used",
                    node.span,
                    severity=Severity.INFO,
                )
        yield from self._halves()
        if self._disabled("multiPoint") & ALWAYS_ON:
            node = find(self._node, ("plugins", "multiPoint", "disabled"))
            listed = ", ".join(f"`{name}`" for name in sorted(ALWAYS_ON))
            yield remark(
                "KP604", f"{listed} cannot be switched off", node.span if node else self._span
            )

    def _halves(self) -> Iterable[Diagnostic]:
        """Rules that the file switches off for nodes only: here they are one thing."""
        filters = {plugin.name for plugin in self._effective("filter")}
        for plugin in self._effective("preFilter"):
            what = _REJECTS_BEFORE_NODES.get(plugin.name)
            if what is not None and plugin.name not in filters:
                yield remark(
                    "KP604",
                    f"kube-scheduler leaves `{plugin.name}` out at `filter`, but still asks it at "
                    f"`preFilter`, where it rejects pods for {what}; kpolicy does not ask it",
                    self._where_disabled("filter", plugin.name),
                    hint="disable it at `multiPoint` instead, and both schedulers decide the same",
                )

    def _where_disabled(self, point: str, plugin: str) -> Span:
        names = [find(item, ("name",)) for item in self._items(point, "disabled")]
        found = next((name for name in names if name and string(name) in (plugin, "*")), None)
        return found.span if found is not None else self._span

    def policy(self) -> Mapping:
        at = self._span
        spec = mapping(
            at,
            profiles=Sequence(at, (mapping(at, schedulerName=Scalar(at, self._name, self._name)),)),
            base=made(NO_BASE, at),
            predicateOrder=made("asWritten", at),
            predicates=Sequence(at, tuple(self._rules("filter"))),
            priorities=Sequence(at, tuple(self._rules("score"))),
            preemption=self._preemption(),
            extenders=self._extenders,
            plugins=self._plugins(),
            percentageOfNodesToScore=self._percentage(),
            compatibility=self._compatibility(),
        )
        return mapping(
            at,
            apiVersion=made(API_VERSION, at),
            kind=made(KIND, at),
            metadata=mapping(at, name=Scalar(at, self._name, self._name)),
            spec=spec,
        )

    def _compatibility(self) -> Node | None:
        gates = find(self._tree, ("featureGates",))
        return mapping(gates.span, featureGates=gates) if isinstance(gates, Mapping) else None

    def _plugins(self) -> Node | None:
        """What the profile says of plugins that the process may have loaded. `*` stands for
        kube-scheduler's own plugins, unless others are named beside it."""
        points = {name: self._choice(name) for name in sorted(_OPEN_POINTS) if self._foreign(name)}
        return mapping(self._span, **points) if points else None

    def _choice(self, point: str) -> Node:
        at = find(self._node, ("plugins", point))
        sides = {}
        for side in ("enabled", "disabled"):
            names = [find(item, ("name",)) for item in self._items(point, side)]
            sides[side] = [
                mapping(name.span, name=name)
                for name in names
                if isinstance(name, Scalar) and name.text not in OWN_PLUGINS
            ]
        span = at.span if at is not None else self._span
        return mapping(
            span, **{side: Sequence(span, tuple(listed)) for side, listed in sides.items()}
        )

    def _foreign(self, point: str) -> bool:
        """Whether the point names a plugin that is none of kube-scheduler's."""
        return point in _OPEN_POINTS and any(
            _is_foreign(string(find(item, ("name",))))
            for side in ("enabled", "disabled")
            for item in self._items(point, side)
        )

    def _items(self, point: str, side: str) -> Iterable[Node]:
        return items(find(self._node, ("plugins", point, side)))

    def _percentage(self) -> Node | None:
        """The profile's own setting wins over the setting for all profiles."""
        found = (find(node, ("percentageOfNodesToScore",)) for node in (self._node, self._tree))
        return next((node for node in found if isinstance(node, Scalar)), None)

    def _rules(self, point: Literal["filter", "score"]) -> Iterable[Node]:
        for plugin in self._effective(point):
            builtin = BUILTINS.get(plugin.name)
            if builtin is None or not (builtin.filters if point == "filter" else builtin.scores):
                continue
            name = find(plugin.node, ("name",))
            at = name.span if name else self._span
            weight = find(plugin.node, ("weight",)) if plugin.weight else None
            yield mapping(
                plugin.node.span if plugin.node else at,
                builtin=name or made(plugin.name, at),
                args=self._arguments(plugin.name),
                weight=(weight or made(plugin.weight or 1, at)) if point == "score" else None,
            )

    def _arguments(self, name: str) -> Mapping | None:
        node = self._args.get(name)
        if not isinstance(node, Mapping):
            return None
        entries = tuple(e for e in node.entries if e.key.text not in ("apiVersion", "kind"))
        return Mapping(node.span, entries)

    def _preemption(self) -> Node:
        at = self._span
        enabled = any(plugin.name == PREEMPTION for plugin in self._effective("postFilter"))
        policy = made("LowerPriority" if enabled else "Never", at)
        arguments = self._arguments(PREEMPTION) or Mapping(at, ())
        return Mapping(arguments.span, (*mapping(at, policy=policy).entries, *arguments.entries))

    def _merged(self, defaults: Iterable[_Enabled], point: str) -> tuple[_Enabled, ...]:
        """The defaults that are not disabled, in their order, each as the file configures it if it
        does; then the other plugins of the file."""
        custom, disabled = self._enabled(point), self._disabled(point)
        by_name = {plugin.name: plugin for plugin in custom}
        kept = [
            by_name.pop(plugin.name, plugin)
            for plugin in defaults
            if "*" not in disabled and plugin.name not in disabled
        ]
        return (*kept, *(plugin for plugin in custom if plugin.name in by_name))

    def _enabled(self, point: str) -> list[_Enabled]:
        found = []
        for item in items(find(self._node, ("plugins", point, "enabled"))):
            name, weight = find(item, ("name",)), find(item, ("weight",))
            if isinstance(name, Scalar):
                value = weight.value if isinstance(weight, Scalar) else 0
                found.append(_Enabled(name.text, value if isinstance(value, int) else 0, item))
        return found

    def _disabled(self, point: str) -> frozenset[str]:
        listed = items(find(self._node, ("plugins", point, "disabled")))
        return frozenset(string(find(item, ("name",))) for item in listed)

    def _effective(
        self, point: Literal["preFilter", "filter", "score", "postFilter"]
    ) -> Iterable[_Enabled]:
        """The plugins of one extension point, in the order they run."""
        if self._version.is_merged_by_point:
            return self._merged(self._multi_point, point)
        enabled, disabled = self._enabled(point), self._disabled(point)
        hidden = disabled | {plugin.name for plugin in enabled}
        expanded = {plugin.name for plugin in self._multi_point}
        inherited = (p for p in self._multi_point if "*" not in disabled and p.name not in hidden)
        return [
            *(plugin for plugin in enabled if plugin.name in expanded),
            *inherited,
            *(plugin for plugin in enabled if plugin.name not in expanded),
        ]


def _says_the_same(point: Node | None, other: Node | None) -> bool:
    """Whether two extension points enable and disable the same plugins."""
    return all(
        {string(find(item, ("name",))) for item in items(find(point, (side,)))}
        == {string(find(item, ("name",))) for item in items(find(other, (side,)))}
        for side in ("enabled", "disabled")
    )


def _is_foreign(name: str) -> bool:
    return bool(name) and name != "*" and name not in OWN_PLUGINS


def _unknown_plugin(name: str, span: Span) -> Diagnostic:
    unknown = unknown_plugin(name)
    return remark("KP103", unknown.message, span, hint=unknown.hint)
