"""The verb `explain-field`: what a field of a SchedulingPolicy means, from its JSON Schema."""

from __future__ import annotations

import argparse
import re
import sys
import textwrap
from typing import Any, Final

from kpolicy.cli.verb import FINE, CannotWorkError, Verb, argument

_WIDTH: Final = 80
_INDEX: Final = re.compile(r"\[[^\]]*\]")


def _explain_field(args: argparse.Namespace) -> int:
    from kpolicy.policy.models.field_descriptions import describe_fields
    from kpolicy.policy.models.scheduling_policy import SchedulingPolicy

    schema = SchedulingPolicy.model_json_schema(by_alias=True)
    describe_fields(schema)
    definitions = schema.pop("$defs")
    field, walked = schema, ""
    for name in filter(None, _INDEX.sub("", args.field).split(".")):
        field = _member(_inner(field, definitions), name, walked)
        walked = f"{walked}.{name}" if walked else name
    sys.stdout.write(_text(walked or "SchedulingPolicy", field, definitions))
    return FINE


def _member(model: dict[str, Any], name: str, walked: str) -> dict[str, Any]:
    from kpolicy.diagnostics import did_you_mean

    fields = model.get("properties", {})
    if name in fields:
        return dict(fields[name])
    if model.get("additionalProperties"):  # a map: the name is a key that the policy chooses
        return dict(model["additionalProperties"])
    place = f"`{walked}`" if walked else "a SchedulingPolicy"
    if not fields:
        raise CannotWorkError(f"{place} has no fields, so it has no `{name}`")
    hint = did_you_mean(name, list(fields)) or f"its fields are {', '.join(fields)}"
    raise CannotWorkError(f"{place} has no field `{name}`; {hint}")


def _inner(field: dict[str, Any], definitions: dict[str, Any]) -> dict[str, Any]:
    """The model in the field: of its value, of each item of a list, or of each value of a map."""
    for choice in field.get("anyOf", ()):
        if choice.get("type") != "null":
            return _inner(choice, definitions)
    if "$ref" in field:
        return dict(definitions[field["$ref"].rsplit("/", 1)[-1]])
    return _inner(field["items"], definitions) if "items" in field else _map(field)


def _map(field: dict[str, Any]) -> dict[str, Any]:
    for of_keys in field.get("patternProperties", {}).values():
        return {"additionalProperties": of_keys}
    return field


def _type(field: dict[str, Any]) -> str:
    choices = [choice for choice in field.get("anyOf", ()) if choice.get("type") != "null"]
    if choices:
        return " or ".join(map(_type, choices))
    if "const" in field or "enum" in field:
        return " | ".join(map(str, field.get("enum", [field.get("const")])))
    if "items" in field:
        return f"list of {_type(field['items'])}"
    if field.get("format") == "cel":
        return "CEL expression"
    name = "object" if "$ref" in field else field.get("type", "any value")
    bounds = [
        f"{word} {field[key]:,}"
        for word, key in (("from", "minimum"), ("to", "maximum"))
        if key in field
    ]
    return " ".join([name, *bounds])


def _text(title: str, field: dict[str, Any], definitions: dict[str, Any]) -> str:
    default = field.get("default")
    default_text = "" if default in (None, "", [], {}) else f"; default {str(default).lower()}"
    default_text = f"; default {default}" if isinstance(default, str) and default else default_text
    model = _inner(field, definitions)
    lines = [f"{title}: {_type(field)}{default_text}"]
    meaning = " ".join(field.get("description", "").split())
    if meaning:
        lines += ["", *textwrap.wrap(meaning, _WIDTH)]
    fields = model.get("properties", {})
    if fields:
        lines += ["", "fields:"]
        width = max(map(len, fields))
        for name, of_field in fields.items():
            lines += textwrap.wrap(
                of_field.get("description", ""),
                _WIDTH,
                initial_indent=f"  {name:<{width}}  ",
                subsequent_indent=" " * (width + 4),
            )
    return "\n".join(lines) + "\n"


EXPLAIN_FIELD: Final = Verb(
    "explain-field",
    "Explain a field of a SchedulingPolicy: its type, default and meaning, and the fields in it.",
    _explain_field,
    (
        argument(
            "field",
            nargs="?",
            default="",
            metavar="FIELD",
            help="for example spec.priorities.weight; without it, the whole document",
        ),
    ),
)
