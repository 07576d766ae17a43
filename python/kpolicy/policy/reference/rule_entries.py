"""The entries of rules: built-ins by their names, and the names of the legacy Policy."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Final

from kpolicy.policy.legacy.meanings import (
    LABEL_PRESENCE,
    PREDICATES,
    PRIORITIES,
    SERVICE_AFFINITY,
    Meaning,
    default_predicates,
    default_priorities,
)
from kpolicy.policy.legacy.reading import NEWEST_MINOR
from kpolicy.policy.models.argument_descriptions import ARGUMENT_DESCRIPTIONS
from kpolicy.policy.models.builtins import BUILTINS, Builtin
from kpolicy.policy.models.field_descriptions import FIELD_DESCRIPTIONS, describe_fields
from kpolicy.policy.reference.builtin_texts import BUILTINS as TEXTS, RELEASES as UNTIL
from kpolicy.policy.reference.entry import Entry
from kpolicy.policy.reference.fields import Field, all_fields
from kpolicy.release_table import RELEASES

BUILTIN: Final = "built-in"
LEGACY_PREDICATE: Final = "predicate of the legacy Policy"
LEGACY_PRIORITY: Final = "priority of the legacy Policy"
# The first release that had a default set.
_FIRST_MINOR: Final = 10
# Names that need an argument, with what they become.
_WITH_ARGUMENT: Final = {
    LABEL_PRESENCE: ("NodeLabel", {"labelsPresence": {"labels": ["disk"], "presence": True}}),
    SERVICE_AFFINITY: ("ServiceAffinity", {"serviceAffinity": {"labels": ["region"]}}),
}


def rule_entries() -> Iterator[Entry]:
    for built_in in BUILTINS.values():
        yield _builtin(built_in)
    for name, meanings in PREDICATES.items():
        yield _legacy(name, LEGACY_PREDICATE, meanings)
    for name, (stands_for, argument) in _WITH_ARGUMENT.items():
        written = json.dumps({"name": name, "argument": argument})
        meaning = f"Stands for the built-in `{stands_for}`; it needs an argument."
        releases = f"legacy Policy, until 1.{NEWEST_MINOR}"
        yield Entry(
            name, LEGACY_PREDICATE, meaning, written, group="Legacy names", releases=releases
        )
    for name, meanings in PRIORITIES.items():
        yield _legacy(name, LEGACY_PRIORITY, meanings)


def _builtin(built_in: Builtin) -> Entry:
    text = TEXTS[built_in.name]
    roles = [("predicates", built_in.filters), ("priorities", built_in.scores)]
    releases = UNTIL.get(built_in.name, f"kube-scheduler {RELEASES[0]} to {RELEASES[-1]}")
    is_default = "in the default profile" if built_in.is_default else "not in the default profile"
    return Entry(
        built_in.name,
        BUILTIN,
        text.meaning,
        text.example,
        tuple(f"spec.{name}: builtin: {built_in.name}" for name, is_one in roles if is_one),
        group="Built-ins",
        arguments=_arguments(built_in),
        releases=f"{releases}; {is_default}",
        weight=built_in.weight,
    )


def _arguments(built_in: Builtin) -> tuple[tuple[str, Field], ...]:
    schema = built_in.args.model_json_schema(by_alias=True)
    describe_fields(schema, {**FIELD_DESCRIPTIONS, **ARGUMENT_DESCRIPTIONS})
    return tuple(all_fields(schema))


def _legacy(name: str, kind: str, meanings: tuple[Meaning, ...]) -> Entry:
    is_predicate = kind == LEGACY_PREDICATE
    rule = {"name": name} if is_predicate else {"name": name, "weight": 1}
    return Entry(
        name,
        kind,
        f"Stands for {', '.join(map(_stands_for, meanings))}.",
        json.dumps(rule),
        group="Legacy names",
        releases=_default_in(name, is_predicate=is_predicate),
    )


def _stands_for(meaning: Meaning) -> str:
    if meaning.expression:
        return f"an expression (`{meaning.expression}`)"
    args: Mapping[str, object] = meaning.args
    return f"the built-in `{meaning.builtin}`" + (f" with {json.dumps(args)}" if args else "")


def _default_in(name: str, *, is_predicate: bool) -> str:
    defaults = default_predicates if is_predicate else default_priorities
    minors = [minor for minor in range(_FIRST_MINOR, NEWEST_MINOR + 1) if name in defaults(minor)]
    until = f"legacy Policy, until 1.{NEWEST_MINOR}"
    if not minors:
        return f"{until}; in no default set"
    return f"{until}; in the default set of 1.{minors[0]} to 1.{minors[-1]}"
