"""Selectors of nodes by labels and by name, as kube-scheduler accepts them in its configuration.

Annotations are values here, as in `builtins`.
"""

import re
from typing import Annotated, Final, Literal, Self

from pydantic import Field, model_validator

from kpolicy.policy.models.validation import Edge, NonEmpty, empty_list, refuse

_TEXT_MAX: Final = 63
_PREFIX_MAX: Final = 253
_NAME: Final = re.compile(r"[A-Za-z0-9](?:[-A-Za-z0-9_.]*[A-Za-z0-9])?")
_PREFIX: Final = re.compile(
    r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?(?:\.[a-z0-9](?:[-a-z0-9]*[a-z0-9])?)*"
)
_INTEGER_MAX: Final = 2**63 - 1


class LabelRequirement(Edge):
    key: NonEmpty
    operator: Literal["In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"]
    values: list[str] = Field(default_factory=empty_list)

    @model_validator(mode="after")
    def _values_go_with_operator(self) -> Self:
        counts = {"In": "some values", "NotIn": "some values", "Gt": "one value", "Lt": "one value"}
        wanted, count = counts.get(self.operator, "no values"), len(self.values)
        if not {"some values": count > 0, "one value": count == 1, "no values": count == 0}[wanted]:
            refuse("KP115", f"`{self.operator}` goes with {wanted}", ("values",))
        if not _is_key(self.key):
            refuse("KP115", f"`{self.key}` cannot be the key of a label", ("key",))
        for index, value in enumerate(self.values):
            if self.operator in ("Gt", "Lt") and not _is_integer(value):
                what = "a whole number from 0 on, because no label can have a smaller one"
                refuse("KP115", f"`{self.operator}` compares with {what}", ("values", index))
            if not _is_value(value):
                refuse("KP115", f"`{value}` cannot be the value of a label", ("values", index))
        return self


class FieldRequirement(Edge):
    """The only field that a node is selected by is `metadata.name`."""

    key: NonEmpty
    operator: Literal["In", "NotIn"]
    values: list[str] = Field(default_factory=empty_list)

    @model_validator(mode="after")
    def _has_one_value(self) -> Self:
        if len(self.values) != 1:
            hint = "write a term for each name"
            refuse("KP115", f"`{self.operator}` goes with one value here", ("values",), hint)
        return self


class NodeSelectorTerm(Edge):
    match_expressions: list[LabelRequirement] = Field(default_factory=empty_list)
    match_fields: list[FieldRequirement] = Field(default_factory=empty_list)


class NodeSelector(Edge):
    node_selector_terms: list[NodeSelectorTerm]


class PreferredTerm(Edge):
    weight: Annotated[int, Field(ge=1, le=100)]
    preference: NodeSelectorTerm


def _is_key(text: str) -> bool:
    prefix, slash, name = text.rpartition("/")
    has_prefix = len(prefix) <= _PREFIX_MAX and _PREFIX.fullmatch(prefix) is not None
    is_name = len(name) <= _TEXT_MAX and _NAME.fullmatch(name) is not None
    return is_name and (has_prefix or not slash)


def _is_value(text: str) -> bool:
    return not text or (len(text) <= _TEXT_MAX and _NAME.fullmatch(text) is not None)


def _is_integer(text: str) -> bool:
    return text.isascii() and text.isdigit() and int(text[:_TEXT_MAX]) <= _INTEGER_MAX
