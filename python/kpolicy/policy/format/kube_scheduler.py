"""Writes policies as a KubeSchedulerConfiguration, as far as kube-scheduler's plugins can say them.

A rule or setting that kube-scheduler does not have is left out, named in a comment and in a finding
(KP608). The text is read again, and its program must be the original one without what was left out.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from kpolicy.diagnostics import Diagnostic, Place
from kpolicy.policy.assembly.assemble import Program
from kpolicy.policy.assembly.read_policy import Policy
from kpolicy.policy.assembly.resolve import Served
from kpolicy.policy.compile import Examined, examine
from kpolicy.policy.format.conversion import Converted
from kpolicy.policy.format.exports import head, left_out, read_again
from kpolicy.policy.format.yaml_text import emitted
from kpolicy.policy.models.builtins import (
    BUILTINS,
    PREEMPTION,
    Builtin,
    DefaultPreemptionArgs,
)
from kpolicy.policy.models.scheduling_policy import (
    SCORES_TO_TEN_MINOR_LAST,
    Extender,
    Preemption,
    in_largest_unit,
)
from kpolicy.policy.yaml.source import Source, named_sources

API_VERSION: Final = "kubescheduler.config.k8s.io/v1"
KIND: Final = "KubeSchedulerConfiguration"
_EXTENDER_HINT: Final = "an extender can ask this of a service; kpolicy itself reads the policy"
# Plugins with arguments that only their filter reads, and those that only their score reads. Of all
# others, both sides read every argument.
_ARGS_OF_SIDES: Final = {
    "NodeResourcesFit": (
        frozenset({"ignoredResources", "ignoredResourceGroups"}),
        frozenset({"scoringStrategy"}),
    ),
    "InterPodAffinity": (
        frozenset[str](),
        frozenset({"hardPodAffinityWeight", "ignorePreferredTermsOfExistingPods"}),
    ),
}
FILTER, SCORE = 0, 1
SIDE_NAMES: Final = ("predicate", "priority")
# Their score reads what their filter prepared; without it, kube-scheduler fails every pod.
_SCORES_AFTER_ITS_FILTER: Final = frozenset({"VolumeBinding", "DynamicResources"})
_SUCCESSORS: Final = {
    "NodeResourcesLeastAllocated": "`NodeResourcesFit` with the strategy LeastAllocated",
    "NodeResourcesMostAllocated": "`NodeResourcesFit` with the strategy MostAllocated",
    "RequestedToCapacityRatio": "`NodeResourcesFit` with the strategy RequestedToCapacityRatio",
    "SelectorSpread": "`PodTopologySpread`, which spreads pods of an owner by default",
}


def write_configuration(
    sources: Sequence[Source | str] | Source | str,
    *,
    release: str = "",
    params: Mapping[str, Any] | None = None,
) -> Converted:
    """All policies of the sources as one configuration. The diagnostics name what is left out."""
    named = named_sources(sources)
    examined = examine(named, release=release, params=params)
    compiled = examined.compiled()
    if compiled.program is None:
        return Converted(None, compiled.diagnostics)
    writing = _Writing(examined, compiled.program)
    data = writing.configuration()
    text = head("kube-scheduler", named, writing.left_out) + emitted(data, {})
    again = _meaning(read_again(text))
    assert again == writing.meaning, "the written configuration decides as the policy"
    return Converted(text, (*compiled.diagnostics, *writing.left_out))


# Periods of the queue that a configuration has too.
_OF_PROCESS: Final = {
    "podInitialBackoff": "podInitialBackoffSeconds",
    "podMaxBackoff": "podMaxBackoffSeconds",
}


def _has_holds(profile: Mapping[str, Any]) -> bool:
    return bool(profile.get("holds"))


@dataclass(slots=True)
class PluginProfile:
    """The part of a profile that a configuration can say."""

    name: str
    # By side: built-in and its entry in the program, in the order of the program.
    rules: tuple[dict[str, dict[str, Any]], dict[str, dict[str, Any]]] = field(
        default_factory=lambda: ({}, {})
    )
    preempts: bool = True
    preemption_args: dict[str, Any] = field(default_factory=dict)
    percentage: int = 100


class _Writing:
    def __init__(self, examined: Examined, program: Program) -> None:
        self.left_out: list[Diagnostic] = []
        self._examined = examined
        self._document = json.loads(program.bytes)
        asked = [profile.extenders for profile in program.profiles]
        self._extenders = self._common_extenders(asked)
        self._profiles = [self._plugin_profile(entry) for entry in self._document["profiles"]]
        if self._document["tieBreak"] != "random":
            self._leave_out(
                f"ties are broken by `{self._document['tieBreak']}`; kube-scheduler chooses at "
                "random",
                self._setting("tieBreak"),
            )
        if any(profile.plugins is not None for profile in program.profiles):
            what = "`spec.plugins`: plugins of kpolicy, which kube-scheduler does not have"
            self._leave_out(what, self._setting("plugins"))
        self._of_queue(program)
        for gate, is_open in self._document.get("featureGates", {}).items():
            self._leave_out(
                f"the feature gate `{gate}`, which kube-scheduler reads from a flag only",
                self._setting("compatibility", "featureGates"),
                f"--feature-gates={gate}={str(is_open).lower()}",
            )

    def _of_queue(self, program: Program) -> None:
        profiles = self._document["profiles"]
        for path, is_written, what in (
            (("queue", "order"), "order" in self._document.get("queue", {}), "who is tried next"),
            (("queue", "holds"), any(map(_has_holds, profiles)), "which pods are not tried yet"),
            (
                ("devices", "score"),
                any("devices" in profile for profile in profiles),
                "which devices are chosen",
            ),
        ):
            if is_written:
                why = f"kube-scheduler has no setting for this: {what}"
                self._leave_out(f"`{'.'.join(path)}`: {why}", self._setting(*path))
        for key, seconds in program.periods.fields().items():
            hint = _OF_PROCESS.get(key, "")
            self._leave_out(
                f"`queue.{key}`: a setting of the process",
                self._setting("queue", key),
                f"write `{hint}: {seconds:g}`, in whole seconds" if hint else "",
            )

    @property
    def meaning(self) -> list[Any]:
        """What the configuration must mean when it is read."""
        return [_profile_meaning(profile, self._extenders) for profile in self._profiles]

    def configuration(self) -> dict[str, Any]:
        percentages = {profile.percentage for profile in self._profiles}
        data: dict[str, Any] = {"apiVersion": API_VERSION, "kind": KIND}
        if len(percentages) == 1:
            data["percentageOfNodesToScore"] = self._profiles[0].percentage
        data["profiles"] = [
            _profile(profile, self._ignored(), has_percentage=len(percentages) > 1)
            for profile in self._profiles
        ]
        if self._extenders:
            data["extenders"] = list(map(_extender, self._extenders))
        return data

    def _ignored(self) -> bool:
        """Whether extenders replace `ignoredResources`, in kube-scheduler as here."""
        return any(
            resource.ignored_by_scheduler
            for extender in self._extenders
            for resource in extender.managed_resources
        )

    def _plugin_profile(self, entry: dict[str, Any]) -> PluginProfile:
        profile = PluginProfile(
            entry["schedulerName"], percentage=entry["percentageOfNodesToScore"]
        )
        served = self._examined.resolution.profiles.get(profile.name, ())
        for side, entries in ((FILTER, entry["filters"]), (SCORE, entry["scores"])):
            for rule in entries:
                why, hint = why_not(profile, side, rule)
                if why:
                    what = f"the {SIDE_NAMES[side]} `{rule['name']}`"
                    self._leave_out(f"{what} {why}", rule_place(served, side, rule), hint)
                    continue
                profile.rules[side][rule["builtin"]] = rule
                if rule.get("helpedBy"):
                    what = f"that no new node helps the predicate `{rule['name']}`"
                    why = "kube-scheduler's reason is always `Unschedulable`"
                    self._leave_out(f"{what}; {why}", rule_place(served, side, rule))
        preemption = entry["preemption"]
        profile.preempts = preemption["policy"] != "Never"
        profile.preemption_args = {
            key: preemption[key]
            for key in ("minCandidateNodesPercentage", "minCandidateNodesAbsolute")
        }
        for key, what in (
            ("victims", "that a policy protects pods from eviction"),
            ("order", "another order of the criteria that choose the node"),
            ("freesDevices", "that evicting pods frees devices"),
        ):
            if preemption.get(key) is not None:
                self._leave_out(
                    f"`preemption.{key}`: kube-scheduler has no setting for this: {what}",
                    self._setting("preemption", key),
                )
        return profile

    def _common_extenders(self, asked: Sequence[tuple[Extender, ...]]) -> tuple[Extender, ...]:
        """The extenders that all profiles have. kube-scheduler asks extenders for every profile."""
        bare = [[extender.model_copy(update={"name": None}) for extender in each] for each in asked]
        common: list[Extender] = []
        looked_at: list[Extender] = []
        for extender in (extender for each in bare for extender in each):
            if extender in looked_at:
                continue
            looked_at.append(extender)
            what = f"the extender {extender.url_prefix}"
            place = self._extender_place(extender)
            if not all(extender in each for each in bare):
                hint = "write a configuration for each profile"
                why = "is asked by some profiles only; kube-scheduler has extenders for all"
                self._leave_out(f"{what} {why}", place, hint)
            elif _is_unverified(extender):
                hint = "name its authority in `tlsConfig.caFile`"
                why = "is verified against the system's authorities; kube-scheduler would accept "
                self._leave_out(f"{what} {why}any certificate", place, hint)
            else:
                common.append(extender)
        return tuple(common)

    def _extender_place(self, wanted: Extender) -> Place | None:
        for policy in self._policies():
            for index, extender in enumerate(policy.model.spec.extenders):
                if extender.model_copy(update={"name": None}) == wanted:
                    return policy.place(("spec", "extenders", index, "urlPrefix"))
        return None

    def _policies(self) -> Iterator[Policy]:
        for merged in self._examined.resolution.effectives.values():
            yield from merged.lineage

    def _setting(self, *path: str) -> Place | None:
        """The place of a setting, in the first policy that writes it."""
        for policy in self._policies():
            place = policy.place(("spec", *path))
            if place != policy.place(("spec", *path[:-1])):
                return place
        return None

    def _leave_out(self, message: str, place: Place | None, hint: str = "") -> None:
        finding = left_out(message, place, hint)
        if finding not in self.left_out:
            self.left_out.append(finding)


def why_not(profile: PluginProfile, side: int, rule: Mapping[str, Any]) -> tuple[str, str]:
    """Why kube-scheduler cannot have the rule, and a hint; two empty texts if it can."""
    name = rule.get("builtin")
    if name is None:
        return "is an expression, which kube-scheduler does not have", _EXTENDER_HINT
    if not BUILTINS[name].is_default:
        hint = _SUCCESSORS.get(name, _EXTENDER_HINT)
        return f"is the built-in `{name}`, which kube-scheduler does not have", hint
    if rule.get("match"):
        return "concerns some pods only; a plugin of kube-scheduler concerns all pods", ""
    if (minor := rule.get("release")) is not None:
        scale = " (from 0 to 10)" if minor <= SCORES_TO_TEN_MINOR_LAST else ""
        hint = "without `compatibility.release`, it scores as the release that is followed"
        return f"scores as release 1.{minor} did{scale}", hint
    if name in profile.rules[side]:
        return f"is `{name}` a second time; a profile has a plugin once", ""
    if side == SCORE and name in profile.rules[FILTER]:
        other = profile.rules[FILTER][name]
        if name not in _ARGS_OF_SIDES and other["args"] != rule["args"]:
            return f"has other arguments than the predicate `{other['name']}`", ""
    elif side == SCORE and name in _SCORES_AFTER_ITS_FILTER:
        return f"has no predicate `{name}` beside it, which kube-scheduler needs", ""
    return "", ""


def rule_place(served: Iterable[Served], side: int, rule: Mapping[str, Any]) -> Place | None:
    """The place of a rule of the program in its file."""
    for policy in served:
        for applied in policy.predicates if side == FILTER else policy.priorities:
            written = applied.written
            # A rule of the same name as another is POLICY/NAME in the program.
            if written.rule.builtin == rule.get("builtin") and (
                rule["name"] == written.name or rule["name"].endswith(f"/{written.name}")
            ):
                return written.place
    return None


def _is_unverified(extender: Extender) -> bool:
    tls = extender.tls_config
    is_stated = tls is not None and (tls.insecure or tls.ca_file or tls.ca_data)
    return extender.url_prefix.startswith("https:") and extender.enable_https and not is_stated


def _profile(profile: PluginProfile, is_ignored: bool, *, has_percentage: bool) -> dict[str, Any]:
    written: dict[str, Any] = {"schedulerName": profile.name}
    if has_percentage:
        written["percentageOfNodesToScore"] = profile.percentage
    if plugins := plugins_of(profile):
        written["plugins"] = plugins
    if config := list(plugin_config(profile, is_ignored=is_ignored)):
        written["pluginConfig"] = config
    return written


def plugins_of(profile: PluginProfile) -> dict[str, Any]:
    """The differences from the default profile, at the extension points that they concern."""
    filters, scores = profile.rules
    defaults = [builtin for builtin in BUILTINS.values() if builtin.is_default]
    weights = [
        {"name": builtin.name, "weight": scores[builtin.name]["weight"]}
        for builtin in defaults
        if builtin.name in scores and scores[builtin.name]["weight"] != builtin.weight
    ]
    unused = [b for b in defaults if b.name not in filters and b.name not in scores]
    no_filter = [b for b in defaults if b.filters and b.name in scores and b.name not in filters]
    no_score = [b for b in defaults if b.scores and b.name in filters and b.name not in scores]
    if not profile.preempts:
        unused.append(Builtin(PREEMPTION, False, False, True, 0, DefaultPreemptionArgs))
    moved = _moved(filters, preempts=profile.preempts)
    enabled = [entry for entry in weights if entry["name"] not in moved]
    enabled += [
        {"name": name, "weight": scores[name]["weight"]} if name in scores else {"name": name}
        for name in moved
    ]
    disabled = _names(unused) + [{"name": name} for name in moved]
    points: dict[str, Any] = {"multiPoint": {"enabled": enabled, "disabled": disabled}}
    if no_filter:
        points["preFilter"] = points["filter"] = {"disabled": _names(no_filter)}
    if no_score:
        points["preScore"] = points["score"] = {"disabled": _names(no_score)}
    order = ("multiPoint", "preFilter", "filter", "preScore", "score")
    kept = {
        point: {side: listed for side, listed in points[point].items() if listed}
        for point in order
        if point in points
    }
    return {point: sides for point, sides in kept.items() if sides}


def _moved(filters: Iterable[str], *, preempts: bool) -> list[str]:
    """The filters from the first on that is not in kube-scheduler's order. Where they are disabled
    and enabled again, they come last at every extension point, in the order in which they are
    written. Only plugins that have the extension point may be enabled there, and which ones have
    PreFilter depends on the release; so they are moved in `multiPoint`."""
    places = {name: place for place, name in enumerate(BUILTINS)}
    names = list(filters)
    in_order = itertools.takewhile(
        lambda pair: places[pair[0]] < places[pair[1]], itertools.pairwise(names)
    )
    moved = names[1 + sum(1 for _ in in_order) :]
    # Claims are deallocated before pods are evicted for them.
    return [*moved, PREEMPTION] if preempts and "DynamicResources" in moved else moved


def _names(builtins: Iterable[Builtin]) -> list[dict[str, str]]:
    return [{"name": builtin.name} for builtin in builtins]


def plugin_config(profile: PluginProfile, *, is_ignored: bool) -> Iterator[dict[str, Any]]:
    preemption = DefaultPreemptionArgs.model_validate(profile.preemption_args).model_dump(
        by_alias=True, exclude_defaults=True
    )
    if preemption and profile.preempts:
        yield {"name": PREEMPTION, "args": preemption}
    filters, scores = profile.rules
    for name in (name for name in BUILTINS if name in filters or name in scores):
        sides = (filters.get(name), scores.get(name))
        read = [read_args(name, side, rule["args"]) for side, rule in enumerate(sides) if rule]
        args = {key: value for each in read for key, value in each.items()}
        if is_ignored:
            args.pop("ignoredResources", None)
        model = BUILTINS[name].args.model_validate(args)
        written = model.model_dump(by_alias=True, exclude_defaults=True, exclude_none=True)
        if written:
            yield {"name": name, "args": written}


def read_args(name: str, side: int, args: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments that one side of a plugin reads."""
    sides = _ARGS_OF_SIDES.get(name)
    return {key: value for key, value in args.items() if sides is None or key in sides[side]}


def _extender(extender: Extender) -> dict[str, Any]:
    written = extender.model_dump(by_alias=True, exclude_defaults=True, exclude_none=True)
    if "httpTimeout" in written:
        written["httpTimeout"] = in_largest_unit(extender.http_timeout)
    return written


# What a program means: two are compared without names of rules, and without the order of scores,
# which are added up.


def _meaning(program: Program) -> list[Any]:
    profiles = json.loads(program.bytes)["profiles"]
    found = []
    for entry, shell in zip(profiles, program.profiles, strict=True):
        preemption = entry["preemption"]
        profile = PluginProfile(
            entry["schedulerName"],
            (
                {r["builtin"]: r for r in entry["filters"]},
                {r["builtin"]: r for r in entry["scores"]},
            ),
            preemption["policy"] != "Never",
            {key: preemption[key] for key in preemption if key.startswith("minCandidate")},
            entry["percentageOfNodesToScore"],
        )
        found.append(_profile_meaning(profile, shell.extenders))
    return found


def _profile_meaning(profile: PluginProfile, extenders: Iterable[Extender]) -> Any:
    filters, scores = profile.rules
    return (
        profile.name,
        profile.percentage,
        [(name, read_args(name, FILTER, rule["args"])) for name, rule in filters.items()],
        [
            (name, rule["weight"], read_args(name, SCORE, rule["args"]))
            for name, rule in sorted(scores.items())
        ],
        profile.preemption_args if profile.preempts else Preemption.model_fields["policy"].default,
        [
            extender.model_copy(update={"http_timeout": in_largest_unit(extender.http_timeout)})
            for extender in extenders
        ],
    )
