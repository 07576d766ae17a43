"""Label and field selectors.

Owns their grammar and what they match. Pure: the object is an argument, a selector that cannot be
read is a `Failure`. Must not know where objects come from.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final

from kpolicy.testing import limits
from kpolicy.testing.failures import Failure, bad_request
from kpolicy.testing.resources import FieldPath, Resource

_KEY = r"(?:[a-zA-Z0-9]|[a-zA-Z0-9][-\w./]*[a-zA-Z0-9])"
_REQUIREMENT: Final = re.compile(
    rf"\s*(?:(?P<absent>!)\s*(?P<absent_key>{_KEY})"
    rf"|(?P<key>{_KEY})\s*(?:(?P<equality>==|=|!=)\s*(?P<value>[-\w.]*)"
    r"|\s(?P<operator>in|notin)\s*\((?P<values>[^()]*)\)"
    r"|(?P<order>[<>])\s*(?P<bound>-?\d+))?)"
    r"\s*(?:,|$)"
)
_FIELD: Final = re.compile(r"([^=!,]+?)(==|=|!=)((?:[^,\\]|\\.)*)(?:,|$)")


class Operator(Enum):
    IN = "in"
    NOT_IN = "notin"
    EXISTS = "exists"
    ABSENT = "!"
    GREATER = ">"
    LESS = "<"


@dataclass(frozen=True, slots=True)
class Requirement:
    key: str
    operator: Operator
    values: frozenset[str] = frozenset()

    def matches(self, labels: Mapping[str, str]) -> bool:
        value = labels.get(self.key)
        match self.operator:
            case Operator.IN:
                return value in self.values
            case Operator.NOT_IN:
                return value not in self.values
            case Operator.EXISTS:
                return value is not None
            case Operator.ABSENT:
                return value is None
            case Operator.GREATER | Operator.LESS:
                return self._orders(value)

    def _orders(self, value: str | None) -> bool:
        try:
            number = int(value or "")
        except ValueError:
            return False
        bound = int(next(iter(self.values)))
        return number > bound if self.operator is Operator.GREATER else number < bound


@dataclass(frozen=True, slots=True)
class FieldRequirement:
    path: FieldPath
    value: str
    equal: bool

    def matches(self, object_: Mapping[str, Any]) -> bool:
        return (field_text(object_, self.path) == self.value) is self.equal


@dataclass(frozen=True, slots=True)
class Selector:
    labels: tuple[Requirement, ...] = ()
    fields: tuple[FieldRequirement, ...] = ()

    @property
    def is_everything(self) -> bool:
        return not self.labels and not self.fields

    def matches(self, object_: Mapping[str, Any]) -> bool:
        for field in self.fields:
            if not field.matches(object_):
                return False
        if self.labels:
            labels = object_["metadata"].get("labels") or {}
            return all(requirement.matches(labels) for requirement in self.labels)
        return True


EVERYTHING: Final = Selector()


def field_text(object_: Mapping[str, Any], path: FieldPath) -> str:
    """A field as selectors compare it: what is absent reads as its type's zero."""
    value: Any = object_
    for step in path:
        if not isinstance(value, Mapping):
            value = None
            break
        value = value.get(step)
    if value is None:
        return "false" if path[-1] in _BOOLEAN_FIELDS else ""
    return str(value).lower() if isinstance(value, bool) else str(value)


def parse(resource: Resource, labels: str, fields: str) -> Selector | Failure:
    if not labels and not fields:
        return EVERYTHING
    if len(labels) > limits.SELECTOR_CHARACTERS_MAX or len(fields) > limits.SELECTOR_CHARACTERS_MAX:
        return bad_request("selector too long")
    label_requirements = _parse_labels(labels)
    if isinstance(label_requirements, Failure):
        return label_requirements
    field_requirements = _parse_fields(resource, fields)
    if isinstance(field_requirements, Failure):
        return field_requirements
    return Selector(label_requirements, field_requirements)


def _parse_labels(text: str) -> tuple[Requirement, ...] | Failure:
    requirements: list[Requirement] = []
    at = 0
    while at < len(text):
        found = _REQUIREMENT.match(text, at)
        if found is None:
            return bad_request(f"unable to parse requirement: found '{text[at:]}'")
        requirements.append(_requirement(found))
        at = found.end()
    return tuple(requirements)


def _requirement(found: re.Match[str]) -> Requirement:
    if found["absent"]:
        return Requirement(found["absent_key"], Operator.ABSENT)
    key = found["key"]
    if found["equality"]:
        operator = Operator.NOT_IN if found["equality"] == "!=" else Operator.IN
        return Requirement(key, operator, frozenset((found["value"],)))
    if found["operator"]:
        values = frozenset(value.strip() for value in found["values"].split(","))
        return Requirement(key, Operator(found["operator"]), values)
    if found["order"]:
        return Requirement(key, Operator(found["order"]), frozenset((found["bound"],)))
    return Requirement(key, Operator.EXISTS)


def _parse_fields(resource: Resource, text: str) -> tuple[FieldRequirement, ...] | Failure:
    requirements: list[FieldRequirement] = []
    at = 0
    while at < len(text):
        found = _FIELD.match(text, at)
        if found is None:
            return bad_request(f"invalid selector: '{text}'; can't understand '{text[at:]}'")
        label, operator, value = found[1].strip(), found[2], re.sub(r"\\(.)", r"\1", found[3])
        path = resource.fields.get(label)
        if path is None:
            return bad_request(f"field label not supported: {label}")
        requirements.append(FieldRequirement(path, value, equal=operator != "!="))
        at = found.end()
    return tuple(requirements)


_BOOLEAN_FIELDS: Final = frozenset(("unschedulable", "hostNetwork"))
