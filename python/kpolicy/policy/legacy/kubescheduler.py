"""KubeSchedulerConfiguration as SchedulingPolicy documents, one a profile.

Owns kube-scheduler's rules for merging plugin sets. Assumes release
1.36. Must not know how a policy is compiled. The documents it makes keep the spans of the file.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Final, Literal

from kpolicy.diagnostics import Diagnostic, Severity, Span
from kpolicy.policy.codes.registry import remark
from kpolicy.policy.legacy.kubescheduler_versions import (
    Plugins,
    Profile,
    ProfileV1,
    Version,
    version_of,
)
from kpolicy.policy.models.builtins import ALWAYS_ON, BUILTINS, PREEMPTION
from kpolicy.policy.models.scheduling_policy import API_VERSION, KIND
from kpolicy.policy.models.validation import validated
from kpolicy.policy.nearest import did_you_mean
from kpolicy.policy.yaml.nodes import (
    Entry,
    Mapping,
    Node,
    Scalar,
    Sequence,
    find,
    items,
    made,
    mapping,
    string,
)

# What happens at these points follows from another, or is the same for every profile.
_OWN_WAY: Final = (
    "preEnqueue",
    "queueSort",
    "bind",
    "permit",
    "reserve",
    "preBind",
    "postBind",
)
_NOT_READ: Final = {
    **dict.fromkeys(_OWN_WAY, "is done in kpolicy's own way"),
    "preFilter": "goes with `filter` here",
    "preScore": "goes with `score` here",
}

DEFAULT_SCHEDULER: Final = "default-scheduler"


@dataclass(frozen=True, slots=True)
class _Enabled:
    name: str
    weight: int
    # Where the file asks for it; None if only the default profile does.
    node: Node | None = None


def default_multi_point() -> tuple[_Enabled, ...]:
    """The default profile of release 1.36, as far as it filters, scores or preempts."""
    listed = [_Enabled(b.name, b.weight) for b in BUILTINS.values() if b.is_default]
    preemption = next(i for i, one in enumerate(listed) if not BUILTINS[one.name].filters)
    listed.insert(preemption, _Enabled(PREEMPTION, 0))
    return tuple(listed)


def converted(root: Mapping) -> tuple[list[Mapping], list[Diagnostic]]:
    """The policies of a configuration, and what is wrong with it."""
    version = version_of(root)
    if isinstance(version, Diagnostic):
        return [], [version]
    model, tree, findings = validated(version.model, root)
    diagnostics = list(findings)
    if model is None or not isinstance(tree, Mapping):
        return [], diagnostics
    profiles: list[tuple[Profile, Node]] = list(
        zip(model.profiles, items(tree.get("profiles")), strict=True)
    )
    if not profiles:
        span = tree.entries[0].key.span
        profiles = [(ProfileV1(), Mapping(span, ()))]
    diagnostics += [*version.told(tree.entries[0].value), *_name_findings(profiles)]
    made_of = [_Profile(version, tree, profile, node) for profile, node in profiles]
    for one in made_of:
        diagnostics += one.findings()
    return [one.policy() for one in made_of], diagnostics


def _name_findings(profiles: list[tuple[Profile, Node]]) -> Iterable[Diagnostic]:
    seen: set[str] = set()
    for profile, node in profiles:
        name = profile.scheduler_name
        at = find(node, ("schedulerName",)) or node
        if name is None and len(profiles) > 1:
            yield remark(
                "KP114",
                "`schedulerName` is needed where there are several profiles",
                Span(node.span.start, node.span.start + 1),
            )
        elif name is not None and name in seen:
            yield remark("KP104", f"two profiles serve `{name}`", at.span)
        seen.add(name or "")


class _Profile:
    """One profile on its way to a SchedulingPolicy."""

    def __init__(self, version: Version, tree: Mapping, profile: Profile, node: Node) -> None:
        self._version = version
        self._tree = tree
        self._profile = profile
        self._node = node
        self._multi_point = self._merged(self._defaults(), "multiPoint")
        self._args = {
            one.name: find(node, ("pluginConfig", index, "args"))
            for index, one in enumerate(profile.plugin_config)
        }

    @property
    def _name(self) -> str:
        return self._profile.scheduler_name or DEFAULT_SCHEDULER

    @property
    def _span(self) -> Span:
        named = find(self._node, ("schedulerName",))
        if named is not None:
            return named.span
        return Span(self._node.span.start, min(self._node.span.start + 1, self._node.span.end))

    def findings(self) -> Iterable[Diagnostic]:
        known = {*BUILTINS, *ALWAYS_ON, PREEMPTION}
        for point in Plugins.model_fields.values():
            for side in ("enabled", "disabled"):
                for item in items(find(self._node, ("plugins", str(point.alias), side))):
                    yield from self._plugin_findings(item, known | {"*"})
        seen: set[str] = set()
        for index, one in enumerate(self._profile.plugin_config):
            at = find(self._node, ("pluginConfig", index, "name"))
            span = at.span if at else self._span
            if one.name not in known:
                yield _unknown_plugin(one.name, span, known)
            if one.name in seen:
                yield remark("KP104", f"`{one.name}` is configured twice", span)
            seen.add(one.name)
            kind = find(self._node, ("pluginConfig", index, "args", "kind"))
            if isinstance(kind, Scalar) and kind.text != f"{one.name}Args":
                yield remark(
                    "KP103",
                    f"`{kind.text}` are not the arguments of `{one.name}`",
                    kind.span,
                    hint=f"write `{one.name}Args`",
                )
        yield from self._without_effect()

    def _plugin_findings(self, item: Node, known: set[str]) -> Iterable[Diagnostic]:
        name = find(item, ("name",))
        if isinstance(name, Scalar) and name.text not in known:
            yield _unknown_plugin(name.text, name.span, known - {"*"})

    def _without_effect(self) -> Iterable[Diagnostic]:
        for point, why in _NOT_READ.items():
            node = find(self._node, ("plugins", point))
            if node is not None:
                yield remark(
                    "KP604", f"`{point}` {why}; this is not used", node.span, severity=Severity.INFO
                )
        if self._disabled("multiPoint") & ALWAYS_ON:
            node = find(self._node, ("plugins", "multiPoint", "disabled"))
            listed = ", ".join(f"`{name}`" for name in sorted(ALWAYS_ON))
            yield remark(
                "KP604", f"{listed} cannot be switched off", node.span if node else self._span
            )

    def policy(self) -> Mapping:
        at = self._span
        spec = mapping(
            at,
            profiles=Sequence(at, (mapping(at, schedulerName=Scalar(at, self._name, self._name)),)),
            predicateOrder=made("asWritten", at),
            predicates=Sequence(at, tuple(self._rules("filter"))),
            priorities=Sequence(at, tuple(self._rules("score"))),
            preemption=self._preemption(),
            extenders=self._tree.get("extenders"),
            percentageOfNodesToScore=self._percentage(),
        )
        metadata = mapping(at, name=Scalar(at, self._name, self._name))
        return mapping(
            at,
            apiVersion=made(API_VERSION, at),
            kind=made(KIND, at),
            metadata=metadata,
            spec=spec,
        )

    def _percentage(self) -> Node | None:
        """The profile's own comes before that of all profiles."""
        for node in (self._node, self._tree):
            found = find(node, ("percentageOfNodesToScore",))
            if isinstance(found, Scalar):
                return found
        return None

    def _rules(self, point: Literal["filter", "score"]) -> Iterable[Node]:
        for one in self._effective(point):
            builtin = BUILTINS.get(one.name)
            if builtin is None or not (builtin.filters if point == "filter" else builtin.scores):
                continue
            name = find(one.node, ("name",))
            at = name.span if name else self._span
            weight = find(one.node, ("weight",)) or made(one.weight or 1, at)
            yield mapping(
                one.node.span if one.node else at,
                builtin=name or made(one.name, at),
                args=self._arguments(one.name),
                weight=(weight if one.weight else made(1, at)) if point == "score" else None,
            )

    def _arguments(self, name: str) -> Node | None:
        node = self._args.get(name)
        if not isinstance(node, Mapping):
            return None
        entries = tuple(e for e in node.entries if e.key.text not in ("apiVersion", "kind"))
        return Mapping(node.span, entries)

    def _preemption(self) -> Node:
        at = self._span
        enabled = any(one.name == PREEMPTION for one in self._effective("postFilter"))
        policy = made("LowerPriority" if enabled else "Never", at)
        entries = [Entry(Scalar(at, "policy", "policy"), policy)]
        arguments = self._arguments(PREEMPTION)
        if isinstance(arguments, Mapping):
            entries += arguments.entries
        return Mapping(arguments.span if arguments else at, tuple(entries))

    def _defaults(self) -> Iterable[_Enabled]:
        for one in default_multi_point():
            yield replace(one, weight=self._version.weights.get(one.name, one.weight))

    def _merged(self, defaults: Iterable[_Enabled], point: str) -> tuple[_Enabled, ...]:
        """The defaults that are left, each as it is named anew if it is; then what is added."""
        custom, disabled = self._enabled(point), self._disabled(point)
        by_name = {one.name: one for one in custom}
        kept: list[_Enabled] = []
        if "*" not in disabled:
            left = (one for one in defaults if one.name not in disabled)
            kept.extend(by_name.pop(one.name, one) for one in left)
        return (*kept, *(one for one in custom if one.name in by_name))

    def _enabled(self, point: str) -> list[_Enabled]:
        listed = items(find(self._node, ("plugins", point, "enabled")))
        found = []
        for item in listed:
            name, weight = find(item, ("name",)), find(item, ("weight",))
            if isinstance(name, Scalar):
                value = weight.value if isinstance(weight, Scalar) else 0
                found.append(_Enabled(name.text, value if isinstance(value, int) else 0, item))
        return found

    def _disabled(self, point: str) -> frozenset[str]:
        listed = items(find(self._node, ("plugins", point, "disabled")))
        return frozenset(string(find(item, ("name",))) for item in listed)

    def _effective(self, point: Literal["filter", "score", "postFilter"]) -> Iterable[_Enabled]:
        """The plugins of one extension point, in the order they run."""
        if self._version.is_merged_by_point:
            return self._merged(self._multi_point, point)
        enabled, disabled = self._enabled(point), self._disabled(point)
        named = {one.name for one in enabled}
        expanded = {one.name for one in self._multi_point}
        overriding = [one for one in enabled if one.name in expanded]
        inherited = [
            one
            for one in self._multi_point
            if "*" not in disabled and one.name not in disabled and one.name not in named
        ]
        added = [one for one in enabled if one.name not in expanded]
        return [*overriding, *inherited, *added]


def _unknown_plugin(name: str, span: Span, known: Iterable[str]) -> Diagnostic:
    return remark(
        "KP103", f"kube-scheduler 1.36 has no plugin `{name}`", span, hint=did_you_mean(name, known)
    )
