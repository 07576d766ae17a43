"""Finds fields in a JSON Schema by their path, and says their types and defaults in words."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from kpolicy.diagnostics import did_you_mean

_INDEX: Final = re.compile(r"\[[^\]]*\]")


@dataclass(frozen=True, slots=True)
class Field:
    """A field of a document. `fields` are those in its value, in each item, or in each value of a
    map. `default` is None where there is none, or nothing worth telling."""

    name: str
    type: str
    default: Any
    meaning: str
    fields: tuple[Field, ...] = ()


class NoSuchFieldError(Exception):
    """The message says which fields there are."""


def field_at(schema: dict[str, Any], path: str) -> tuple[str, Field]:
    """The field at a path such as `spec.priorities[0].weight`, and its path without indices; the
    whole document at an empty path."""
    definitions = schema.get("$defs", {})
    found, walked = schema, ""
    for name in filter(None, _INDEX.sub("", path).split(".")):
        found = _member(_inner(found, definitions), name, walked or f"a {schema['title']}")
        walked = f"{walked}.{name}" if walked else name
    fields = _inner(found, definitions).get("properties", {})
    inside = tuple(_field(name, of_field) for name, of_field in fields.items())
    whole = _field(walked.rpartition(".")[2], found)
    return walked, Field(whole.name, whole.type, whole.default, whole.meaning, inside)


def all_fields(schema: dict[str, Any]) -> Iterator[tuple[str, Field]]:
    """Every field of a document with its path, where no model holds itself."""
    definitions = schema.get("$defs", {})

    def below(model: dict[str, Any], path: str) -> Iterator[tuple[str, Field]]:
        for name, of_field in model.get("properties", {}).items():
            full = f"{path}.{name}" if path else name
            yield full, _field(name, of_field)
            yield from below(_inner(of_field, definitions), full)
        if values := _values(model):
            yield from below(_inner(values, definitions), f"{path}.NAME")

    return below(schema, "")


def _member(model: dict[str, Any], name: str, place: str) -> dict[str, Any]:
    fields = model.get("properties", {})
    if name in fields:
        return dict(fields[name])
    if values := _values(model):  # a map: the name is a key that its author chooses
        return values
    place = place if place.startswith("a ") else f"`{place}`"
    if not fields:
        raise NoSuchFieldError(f"{place} has no fields, so it has no `{name}`")
    hint = did_you_mean(name, list(fields)) or f"its fields are {', '.join(fields)}"
    raise NoSuchFieldError(f"{place} has no field `{name}`; {hint}")


def _inner(field: dict[str, Any], definitions: dict[str, Any]) -> dict[str, Any]:
    """The model in the field: of its value, or of each item of a list. A map is a model without
    properties."""
    for choice in (*field.get("anyOf", ()), *field.get("oneOf", ())):
        inner = _inner(choice, definitions)
        if inner.get("properties") or _values(inner):
            return inner
    if "$ref" in field:
        return dict(definitions[field["$ref"].rsplit("/", 1)[-1]])
    if "items" in field:
        return _inner(field["items"], definitions)
    if not field.get("properties") and (values := _values(field)):
        return {"additionalProperties": values}
    return field


def _values(model: dict[str, Any]) -> dict[str, Any]:
    """What the values of a map are; empty for other values."""
    schemas = (*model.get("patternProperties", {}).values(), model.get("additionalProperties"))
    return next((dict(values) for values in schemas if isinstance(values, dict) and values), {})


def _field(name: str, field: dict[str, Any]) -> Field:
    default = field.get("default")
    is_told = default not in (None, "", [], {})
    meaning = " ".join(field.get("description", "").split())
    return Field(name, _type(field), default if is_told else None, meaning)


def default_text(default: Any) -> str:
    """As it is written in YAML."""
    return str(default).lower() if isinstance(default, bool) else str(default)


def _type(field: dict[str, Any]) -> str:
    choices = [
        choice
        for choice in (*field.get("anyOf", ()), *field.get("oneOf", ()))
        if choice.get("type") != "null"
    ]
    if choices:
        return " or ".join(dict.fromkeys(map(_type, choices)))
    if "const" in field or "enum" in field:
        return " | ".join(map(str, field.get("enum", [field.get("const")])))
    if "items" in field:
        return f"list of {_plural(_type(field['items']))}"
    if field.get("format") == "cel":
        return "CEL expression"
    name = "object" if "$ref" in field else field.get("type", "any value")
    if name == "object" and (values := _values(field)):
        return f"map of {_plural(_type(values))}"
    bounds = [
        f"{word} {field[key]:,}"
        for word, key in (("from", "minimum"), ("to", "maximum"))
        if key in field
    ]
    return " ".join([name, *bounds])


def _plural(kind: str) -> str:
    return f"{kind}s" if kind in ("object", "string", "integer", "number", "boolean") else kind
