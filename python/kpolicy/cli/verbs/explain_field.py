"""The verb `explain-field`: what a field of a document means, from its JSON Schema."""

from __future__ import annotations

import argparse
import sys
import textwrap
from typing import TYPE_CHECKING, Any, Final

from kpolicy.cli.input_output import write_document, write_lines
from kpolicy.cli.schemas import SCHEMA_KINDS, schema_of
from kpolicy.cli.verb import FINE, CannotWorkError, Verb, argument

if TYPE_CHECKING:
    from kpolicy.policy.reference.fields import Field

_WIDTH: Final = 80
# `Output` is what kpolicy writes, and it has a schema for each verb.
_KINDS: Final = SCHEMA_KINDS[:-1]


def _explain_field(args: argparse.Namespace) -> int:
    from kpolicy.policy.reference.fields import NoSuchFieldError, field_at

    try:
        path, field = field_at(schema_of(args.kind), args.field)
    except NoSuchFieldError as error:
        raise CannotWorkError(f"{error}{_other_kind(args.kind, args.field)}") from error
    if args.output == "text":
        sys.stdout.write(_text(path or args.kind, field))
        return FINE
    document = {"document": args.kind, "field": path, **_document(field)}
    if args.output == "json":
        write_document("explain-field", document)
    else:
        write_lines([document])
    return FINE


def _other_kind(kind: str, path: str) -> str:
    """The kinds that have the field, if another one was meant."""
    from kpolicy.policy.reference.fields import NoSuchFieldError, field_at

    having = []
    for other in _KINDS:
        if other != kind:
            try:
                field_at(schema_of(other), path)
            except NoSuchFieldError:
                continue
            having.append(f"--kind {other}")
    return f"; it is a field with {' and '.join(having)}" if having else ""


def _document(field: Field) -> dict[str, Any]:
    members = [{"name": member.name, **_of_field(member)} for member in field.fields]
    return {**_of_field(field), "fields": members}


def _of_field(field: Field) -> dict[str, Any]:
    default = {} if field.default is None else {"default": field.default}
    return {"type": field.type, **default, "meaning": field.meaning}


def _text(title: str, field: Field) -> str:
    from kpolicy.policy.reference.fields import default_text

    default = "" if field.default is None else f"; default {default_text(field.default)}"
    lines = [f"{title}: {field.type}{default}"]
    if field.meaning:
        lines += ["", *textwrap.wrap(field.meaning, _WIDTH)]
    if field.fields:
        lines += ["", "fields:"]
        width = max(len(member.name) for member in field.fields)
        for member in field.fields:
            lines += textwrap.wrap(
                member.meaning,
                _WIDTH,
                initial_indent=f"  {member.name:<{width}}  ",
                subsequent_indent=" " * (width + 4),
            )
    return "\n".join(lines) + "\n"


EXPLAIN_FIELD: Final = Verb(
    "explain-field",
    "Explain a field of a document: its type, default and meaning, and the fields in it.",
    _explain_field,
    (
        argument(
            "field",
            nargs="?",
            default="",
            metavar="FIELD",
            help="for example spec.priorities.weight; without it, the whole document",
        ),
        argument(
            "--kind",
            choices=_KINDS,
            default=_KINDS[0],
            help=f"the kind of document (default: {_KINDS[0]}); Settings is kpolicy.toml",
        ),
        argument(
            "--output",
            "-o",
            choices=("text", "json", "jsonl"),
            default="text",
            help="default: text",
        ),
    ),
)
