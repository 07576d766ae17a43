"""The legacy Policy (scheduler.json, releases 1.0 to 1.22) as a SchedulingPolicy document.

Owns the lenient reading of that file and the meaning of what releases disagreed on. Assumes a tree
of any form. Must not know how a policy is compiled. The document it makes keeps the spans of the
file; without a release, names mean what their authors meant.
"""

from __future__ import annotations

import json
from typing import Final

from kpolicy.diagnostics import Diagnostic, Severity, Span
from kpolicy.policy.codes.registry import remark
from kpolicy.policy.legacy.predicates import predicates
from kpolicy.policy.legacy.priorities import priorities
from kpolicy.policy.legacy.reading import Reading
from kpolicy.policy.models.scheduling_policy import API_VERSION, KIND, minor_of
from kpolicy.policy.nearest import did_you_mean
from kpolicy.policy.yaml.nodes import (
    Entry,
    Mapping,
    Node,
    Scalar,
    Sequence,
    find,
    items,
    made,
    mapping,
    string,
)
from kpolicy.policy.yaml.source import SourceText

_EXTENDER: Final = (
    "urlPrefix",
    "filterVerb",
    "prioritizeVerb",
    "preemptVerb",
    "bindVerb",
    "weight",
    "enableHTTPS",
    "tlsConfig",
    "httpTimeout",
    "nodeCacheCapable",
    "ignorable",
    "managedResources",
)
_TLS: Final = (
    "insecure",
    "serverName",
    "certFile",
    "keyFile",
    "caFile",
    "certData",
    "keyData",
    "caData",
)
_RESOURCE: Final = ("name", "ignoredByScheduler")
# Was in the first published example and never read.
_IGNORED_ALWAYS: Final = ("apiVersion",)


def extenders(root: Mapping) -> tuple[Node | None, list[Diagnostic]]:
    node = root.get("extenders")
    said: list[Diagnostic] = []
    if not isinstance(node, Sequence):
        return None, said
    return Sequence(node.span, tuple(_extender(one, said) for one in node.items)), said


def _extender(node: Node, said: list[Diagnostic]) -> Node:
    if not isinstance(node, Mapping):
        return node
    entries: list[Entry] = []
    for entry in _named(node, _EXTENDER, said).entries:
        value = entry.value
        match entry.key.text:
            case "httpTimeout":
                value = _timeout(value)
            case "tlsConfig" if isinstance(value, Mapping):
                value = _named(value, _TLS, said)
            case "managedResources":
                resources = tuple(
                    _named(one, _RESOURCE, said) if isinstance(one, Mapping) else one
                    for one in items(value)
                )
                value = Sequence(value.span, resources)
        entries.append(Entry(entry.key, value))
    return Mapping(node.span, tuple(entries))


def _named(node: Mapping, known: tuple[str, ...], said: list[Diagnostic]) -> Mapping:
    """The mapping with its keys in the documented case; others are said and left out."""
    by_folded = {name.lower(): name for name in known}
    entries: list[Entry] = []
    for entry in node.entries:
        name = by_folded.get(entry.key.text.lower())
        if name is not None:
            entries.append(Entry(Scalar(entry.key.span, name, name), entry.value))
        elif entry.key.text not in _IGNORED_ALWAYS:
            message = f"unknown key `{entry.key.text}`, ignored"
            hint = did_you_mean(entry.key.text, known)
            where = entry.key.span
            said.append(remark("KP102", message, where, hint=hint, severity=Severity.WARNING))
    return Mapping(node.span, tuple(entries))


def _timeout(value: Node) -> Node:
    """The file counts nanoseconds; 0 is the default of five seconds."""
    if not isinstance(value, Scalar) or not isinstance(value.value, int):
        return value
    written = f"{value.value}ns" if value.value else "5s"
    return Scalar(value.span, written, written)


SCHEDULER_NAME: Final = "default-scheduler"
_FIELDS: Final = (
    "kind",
    "apiVersion",
    "metadata",
    "predicates",
    "priorities",
    "extenders",
    "hardPodAffinitySymmetricWeight",
    "alwaysCheckAllPredicates",
    # Ours: the release that the file was written for.
    "compatibility",
)


def looks_like_one(root: Mapping) -> bool:
    """Files without `kind` were read too."""
    keys = {entry.key.text for entry in root.entries}
    return bool(keys & {"predicates", "priorities", "extenders"}) and "spec" not in keys


def converted(
    text: SourceText, root: Mapping, release: str = ""
) -> tuple[list[Mapping], list[Diagnostic]]:
    """The policy that the file stands for, and what is to be said about it."""
    problem = _json_problem(text, root)
    if problem is not None:
        return [], [problem]
    stated = string(find(root, ("compatibility", "release")))
    reading = Reading(root, minor_of(release or stated))
    return [_policy(reading)], reading.diagnostics


def _json_problem(text: SourceText, root: Mapping) -> Diagnostic | None:
    """A file that begins as JSON must be JSON: YAML would let trailing commas and comments pass."""
    is_json = text.text.startswith("{", root.span.start)
    if not is_json or not root.entries or root.entries[0].key.style != '"':
        return None
    try:
        json.loads(text.text[root.span.start : root.span.end])
    except json.JSONDecodeError as error:
        at = root.span.start + error.pos
        return remark(
            "KP101",
            f"this is not JSON: {error.msg[:1].lower()}{error.msg[1:]}",
            Span(at, at + 1),
            hint="JSON has no comments and no comma after the last item",
        )
    return None


def _policy(reading: Reading) -> Mapping:
    at, root = reading.head, reading.root
    reading.ignore_unknown(root, _FIELDS)
    found, problems = extenders(root)
    reading.diagnostics.extend(problems)
    spec = mapping(
        at,
        profiles=made([{"schedulerName": SCHEDULER_NAME}], at),
        predicateOrder=made("asWritten", at),
        predicates=Sequence(at, tuple(predicates(reading))),
        priorities=Sequence(at, tuple(priorities(reading))),
        interPodAffinity=_symmetric_weight(reading),
        evaluateAll=root.get("alwaysCheckAllPredicates"),
        extenders=found,
        compatibility=_compatibility(reading, root),
    )
    metadata = made({"name": "from-scheduler-json"}, at)
    return mapping(
        at, apiVersion=made(API_VERSION, at), kind=made(KIND, at), metadata=metadata, spec=spec
    )


def _compatibility(reading: Reading, root: Mapping) -> Node | None:
    """What the file says is checked where it stands."""
    if reading.pinned is None or root.get("compatibility") is not None:
        return root.get("compatibility")
    return made({"release": f"1.{reading.pinned}"}, reading.head)


def _symmetric_weight(reading: Reading) -> Node | None:
    """0 is: not given."""
    node = reading.root.get("hardPodAffinitySymmetricWeight")
    if not isinstance(node, Scalar) or not node.value:
        return None
    return mapping(reading.head, hardPodAffinityWeight=node)
