"""What redaction does with a field: small rules, and how they are combined.

A field without a rule is dropped. So is a value that has another form than its rule expects.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from kpolicy.offline.redaction.pseudonyms import Words


@dataclass(frozen=True, slots=True)
class Place:
    """`namespace` is that of the object at hand; `claims` are names of claims that the API makes
    of a pod's and a volume's, by namespace."""

    words: Words
    namespace: str
    claims: Mapping[tuple[str, str], str]

    def claim(self, namespace: str, name: str) -> str:
        return self.claims.get((namespace, name)) or self.words.name(name)


Rule: TypeAlias = Callable[[Place, Any], Any]


class _Dropped:
    """Not `None`, which is a value."""


DROPPED: Final = _Dropped()


def kept(_: Place, value: Any) -> Any:
    """Numbers, quantities, words of the API itself."""
    return DROPPED if isinstance(value, dict | list) else value


def flag(_: Place, value: Any) -> Any:
    """That it is there."""
    return None if value is None else {}


def text(change: Callable[[Place, str], str]) -> Rule:
    """Of a text; what is no text tells nothing and shows the same mistake as before."""

    def rule(place: Place, value: Any) -> Any:
        return change(place, value) if isinstance(value, str) else kept(place, value)

    return rule


name: Final = text(lambda place, value: place.words.name(value))
uid: Final = text(lambda place, value: place.words.uid(value))
image: Final = text(lambda place, value: place.words.image(value))
volume: Final = text(lambda place, value: place.words.volume(value))
claim: Final = text(lambda place, value: place.claim(place.namespace, value))


def word_of(*known: str) -> Rule:
    """One of the API's own words, or else a name."""
    return text(lambda place, value: value if value in known else place.words.name(value))


def each(rule: Rule) -> Rule:
    def of_list(place: Place, value: Any) -> Any:
        if not isinstance(value, list):
            return kept(place, value)
        return [made for one in value if (made := rule(place, one)) is not DROPPED]

    return of_list


def fields(**rules: Rule) -> Rule:
    """An object's fields, by their names in the API."""
    return members(rules)


def members(rules: Mapping[str, Rule]) -> Rule:
    def of_object(place: Place, value: Any) -> Any:
        if not isinstance(value, dict):
            return kept(place, value)
        return {
            field: changed
            for field, rule in rules.items()
            if field in value and (changed := rule(place, value[field])) is not DROPPED
        }

    return of_object


def entries(rule: Callable[[Place, str, str], str]) -> Rule:
    """A map of texts, whose keys stay."""

    def of_map(place: Place, value: Any) -> Any:
        if not isinstance(value, dict):
            return kept(place, value)
        return {
            key: rule(place, key, one) if isinstance(one, str) else kept(place, one)
            for key, one in value.items()
            if not isinstance(one, dict | list)
        }

    return of_map


labels: Final = entries(lambda place, key, value: place.words.label(key, value))
asked_labels: Final = entries(lambda place, key, value: place.words.asked(key, value))
amounts: Final = entries(lambda _place, _key, value: value)


def requirement(change: Callable[[Place, str, str], str]) -> Rule:
    """`{key, operator, values}`; the key says what becomes of the values."""

    def of_requirement(place: Place, value: Any) -> Any:
        if not isinstance(value, dict):
            return kept(place, value)
        key = value.get("key")
        made = members({"key": kept, "operator": kept})(place, value)
        if "values" in value:
            change_one = text(lambda at, one: change(at, key if isinstance(key, str) else "", one))
            made["values"] = each(change_one)(place, value["values"])
        return made

    return of_requirement


asked: Final = requirement(lambda place, key, value: place.words.asked(key, value))
# `matchFields` asks for names, which are not held to be label values.
named: Final = requirement(lambda place, _key, value: place.words.name(value))
located: Final = requirement(lambda place, key, value: place.words.label(key, value))
selector: Final = fields(matchLabels=asked_labels, matchExpressions=each(asked))
node_term: Final = fields(matchExpressions=each(asked), matchFields=each(named))
node_selector: Final = fields(nodeSelectorTerms=each(node_term))


def taint(place: Place, value: Any) -> Any:
    """A taint or a toleration: what its value is, its key says, as of a label."""
    made = members({"key": kept, "operator": kept, "effect": kept})(place, value)
    if isinstance(value, dict) and "value" in value:
        key = value.get("key")
        of_key = key if isinstance(key, str) else ""
        made["value"] = text(lambda at, one: at.words.label(of_key, one))(place, value["value"])
    return made
