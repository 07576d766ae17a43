"""Writes the predicates of policies for the simulation of cluster-autoscaler, which reads a
KubeSchedulerConfiguration (`--scheduler-config-file`).

It has one profile for all pods, runs only PreFilter and Filter of kube-scheduler's own plugins, and
asks no extender. What is left out is named in a comment and in a finding (KP608). The text is read
again, and its filters must be the original ones without what was left out.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from kpolicy.diagnostics import Diagnostic, Place
from kpolicy.policy.assembly.resolve import Served
from kpolicy.policy.compile import Examined, examine
from kpolicy.policy.format.conversion import Converted
from kpolicy.policy.format.exports import head, left_out, read_again
from kpolicy.policy.format.kube_scheduler import (
    API_VERSION,
    FILTER,
    KIND,
    SCORE,
    PluginProfile,
    plugin_config,
    plugins_of,
    read_args,
    rule_place,
    why_not,
)
from kpolicy.policy.format.yaml_text import emitted
from kpolicy.policy.models.builtins import BUILTINS
from kpolicy.policy.yaml.source import Source, named_sources

_AFFINITY_HINT: Final = "`kpolicy convert --to admission-policy` writes what it can as affinity"


def write_simulation(
    sources: Sequence[Source | str] | Source | str,
    *,
    release: str = "",
    params: Mapping[str, Any] | None = None,
) -> Converted:
    """The policies of the sources as one configuration. The diagnostics name what is left out."""
    named = named_sources(sources)
    examined = examine(named, release=release, params=params)
    compiled = examined.compiled()
    if compiled.program is None:
        return Converted(None, compiled.diagnostics)
    document = json.loads(compiled.program.bytes)
    profile = PluginProfile(_first_profile(examined, document))
    findings = list(_findings(examined, document, profile))
    # The other extension points are not run, so that they stay as they are.
    profile.rules[SCORE].update(
        (builtin.name, {"weight": builtin.weight, "args": {}})
        for builtin in BUILTINS.values()
        if builtin.is_default and builtin.scores
    )
    written: dict[str, Any] = {"schedulerName": profile.name}
    if plugins := plugins_of(profile):
        written["plugins"] = plugins
    if config := list(plugin_config(profile, is_ignored=False)):
        written["pluginConfig"] = config
    data = {"apiVersion": API_VERSION, "kind": KIND, "profiles": [written]}
    text = head("cluster-autoscaler", named, findings) + emitted(data, {})
    read = json.loads(read_again(text).bytes)["profiles"][0]["filters"]
    filters = profile.rules[FILTER].values()
    assert _meaning(read) == _meaning(filters), "the written configuration filters as the policy"
    return Converted(text, (*compiled.diagnostics, *findings))


def _findings(
    examined: Examined, document: Mapping[str, Any], profile: PluginProfile
) -> Iterator[Diagnostic]:
    """What cannot be said; the rest is added to `profile`."""
    first = next(each for each in document["profiles"] if each["schedulerName"] == profile.name)
    served = examined.resolution.profiles.get(profile.name, ())
    for rule in _rejecting(first["filters"]):
        why, hint = why_not(profile, FILTER, rule)
        if "builtin" not in rule:
            why, hint = "is an expression, which cluster-autoscaler does not have", _AFFINITY_HINT
        if why:
            message = f"the predicate `{rule['name']}` {why}"
            yield left_out(message, rule_place(served, FILTER, rule), hint)
        else:
            profile.rules[FILTER][rule["builtin"]] = dict(rule)
    yield from _extenders(served)
    for other in document["profiles"]:
        name = other["schedulerName"]
        if _meaning(other["filters"]) != _meaning(first["filters"]):
            message = (
                f"the profile `{name}`: cluster-autoscaler has one for all pods, and "
                f"`{profile.name}` is written"
            )
            hint = "write the profile that needs nodes most in a policy of its own"
            yield left_out(message, _profile_place(examined, name), hint)


def _first_profile(examined: Examined, document: Mapping[str, Any]) -> str:
    """The profile that is written first; the program has them in order of names."""
    names = [profile["schedulerName"] for profile in document["profiles"]]
    written = (
        profile.scheduler_name
        for policy in examined.policies
        for profile in policy.model.spec.profiles
    )
    return next((name for name in written if name in names), str(names[0]))


def _extenders(served: Sequence[Served]) -> Iterator[Diagnostic]:
    policies = {own.name: own for each in served for own in each.effective.lineage}
    for policy in policies.values():
        for index, extender in enumerate(policy.model.spec.extenders):
            message = f"the extender {extender.url_prefix}: cluster-autoscaler asks none"
            yield left_out(message, policy.place(("spec", "extenders", index, "urlPrefix")))


def _profile_place(examined: Examined, name: str) -> Place | None:
    served = examined.resolution.profiles.get(name, ())
    return next((each.effective.policy.place(each.path) for each in served), None)


def _meaning(filters: Any) -> list[Any]:
    """Filters without their names. Which is asked first changes no answer."""
    return sorted(
        (
            rule.get("builtin") or rule["name"],
            json.dumps(
                read_args(rule["builtin"], FILTER, rule["args"])
                if "builtin" in rule
                else rule["expression"],
                sort_keys=True,
            ),
        )
        for rule in _rejecting(filters)
    )


def _rejecting(filters: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Without those that only count what they would reject."""
    return [rule for rule in filters if rule.get("enforcement") != "audit"]
