"""ConfigMaps as sources of params: which a policy names, and the texts they hold.

Owns finding the one that is meant, and what is wrong with what it holds. Assumes manifests that
somebody handed in; a text becomes a value by the type of its param elsewhere. Must not know where
manifests come from.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass

from kpolicy.diagnostics import Diagnostic, Place
from kpolicy.policy.carried import POLICY_KEYS
from kpolicy.policy.catalogue import remark
from kpolicy.policy.documents import ConfigMap, find_documents
from kpolicy.policy.model import ConfigMapReference
from kpolicy.policy.nearest import did_you_mean
from kpolicy.policy.policies import Policy, read_policies
from kpolicy.policy.source import Source
from kpolicy.policy.tree import Mapping, Path, Scalar


@dataclass(frozen=True, slots=True)
class HeldText:
    """What a ConfigMap holds under a key, and where."""

    text: str
    place: Place


def wanted_config_maps(sources: Sequence[Source]) -> tuple[ConfigMapReference, ...]:
    """Those that policies of these sources name and that are not among the sources."""
    found = find_documents(sources)
    named = [
        reference
        for policy in read_policies(found.documents).policies
        for reference in _references(policy)
        if find_config_map(reference, found.config_maps) is None
    ]
    return tuple({(one.namespace, one.name): one for one in named}.values())


def find_config_map(
    reference: ConfigMapReference, config_maps: Iterable[ConfigMap]
) -> ConfigMap | None:
    """A manifest without a namespace is for whichever it is applied to."""
    for one in config_maps:
        if one.name == reference.name and one.namespace in ("", reference.namespace):
            return one
    return None


def held_texts(
    policy: Policy,
    config_maps: Sequence[ConfigMap],
    declared: Collection[str],
    expected: Collection[str],
) -> tuple[dict[str, HeldText], list[Diagnostic]]:
    """By name of the param, for those that are declared; a later reference comes first. Keys that
    are `expected`, besides, are for others."""
    texts: dict[str, HeldText] = {}
    said: list[Diagnostic] = []
    for index, reference in enumerate(_references(policy)):
        path: Path = ("spec", "paramsFrom", index, "configMap", "name")
        found = find_config_map(reference, config_maps)
        if found is not None:
            for key, value in _entries(found):
                if key.text in declared:
                    texts[key.text] = HeldText(value.text, found.text.place(value.span))
                elif key.text not in expected:
                    said.append(_unknown_key(found, key, {*declared, *expected}))
        elif not reference.optional:
            hint = "give its manifest beside the policy, or write `optional: true`"
            message = f"there is no ConfigMap `{reference.namespace}/{reference.name}`"
            said.append(policy.remark("KP123", message, path, hint=hint))
    return texts, said


def uncalled(config_maps: Iterable[ConfigMap], policies: Iterable[Policy]) -> Iterator[Diagnostic]:
    """What there is to say of ConfigMaps that carry no policy and that no policy names."""
    references = [one for policy in policies for one in _references(policy)]
    for config_map in config_maps:
        is_named = any(find_config_map(one, [config_map]) is not None for one in references)
        if config_map.without_policy is not None and not is_named:
            yield config_map.without_policy


def _references(policy: Policy) -> list[ConfigMapReference]:
    return [one.config_map for one in policy.model.spec.params_from]


def _entries(config_map: ConfigMap) -> Iterator[tuple[Scalar, Scalar]]:
    """Without what may be policies."""
    data = config_map.data
    for entry in data.entries if isinstance(data, Mapping) else ():
        if isinstance(entry.value, Scalar) and not entry.key.text.endswith(POLICY_KEYS):
            yield entry.key, entry.value


def _unknown_key(config_map: ConfigMap, key: Scalar, declared: Collection[str]) -> Diagnostic:
    message = f"no param is called `{key.text}`"
    hint = did_you_mean(key.text, declared)
    return remark("KP125", message, hint=hint).at(config_map.text.place(key.span))
