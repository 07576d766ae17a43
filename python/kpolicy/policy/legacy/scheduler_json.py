"""The legacy Policy (scheduler.json, releases 1.0 to 1.22) as a SchedulingPolicy document.

The file is read as leniently as kube-scheduler read it. The document keeps the spans of the file.
Without a release, names mean what their authors meant.
"""

from __future__ import annotations

import json
from typing import Final

from kpolicy.diagnostics import Diagnostic, Span
from kpolicy.policy.codes.registry import remark
from kpolicy.policy.legacy.extender_tls import as_kube_scheduler
from kpolicy.policy.legacy.reading import Reading
from kpolicy.policy.legacy.rules import predicates, priorities
from kpolicy.policy.models.scheduling_policy import (
    API_VERSION,
    KIND,
    NO_BASE,
    Extender,
    ExtenderTls,
    ManagedResource,
    minor_of,
)
from kpolicy.policy.models.validation import Edge
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
    # A field of kpolicy: the release that the file was written for.
    "compatibility",
)


def looks_like_policy(root: Mapping) -> bool:
    """Files without `kind` were read too."""
    keys = {entry.key.text for entry in root.entries}
    return bool(keys & {"predicates", "priorities", "extenders"}) and "spec" not in keys


def converted(
    text: SourceText, root: Mapping, release: str = ""
) -> tuple[list[Mapping], list[Diagnostic]]:
    """The document that the file stands for, and the findings."""
    problem = _json_problem(text, root)
    if problem is not None:
        return [], [problem]
    stated = string(find(root, ("compatibility", "release")))
    reading = Reading(root, minor_of(release or stated))
    return [_document(reading)], reading.diagnostics


def _json_problem(text: SourceText, root: Mapping) -> Diagnostic | None:
    """A file that begins as JSON must be JSON: YAML would accept trailing commas and comments."""
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


def _document(reading: Reading) -> Mapping:
    at, root = reading.head, reading.root
    reading.known_keys(root, _FIELDS)
    spec = mapping(
        at,
        extenders=_extenders(reading),
        profiles=made([{"schedulerName": SCHEDULER_NAME}], at),
        base=made(NO_BASE, at),
        predicateOrder=made("asWritten", at),
        predicates=Sequence(at, tuple(predicates(reading))),
        priorities=Sequence(at, tuple(priorities(reading))),
        interPodAffinity=_symmetric_weight(reading),
        evaluateAll=root.get("alwaysCheckAllPredicates"),
        compatibility=_compatibility(reading),
    )
    return mapping(
        at,
        apiVersion=made(API_VERSION, at),
        kind=made(KIND, at),
        metadata=made({"name": "from-scheduler-json"}, at),
        spec=spec,
    )


def _compatibility(reading: Reading) -> Node | None:
    """The release of the file, if it states one, so that it is validated there."""
    stated = reading.root.get("compatibility")
    if reading.pinned is None or stated is not None:
        return stated
    return made({"release": f"1.{reading.pinned}"}, reading.head)


def _symmetric_weight(reading: Reading) -> Node | None:
    """0 means that no weight is set."""
    node = reading.root.get("hardPodAffinitySymmetricWeight")
    if not isinstance(node, Scalar) or not node.value:
        return None
    return mapping(reading.head, hardPodAffinityWeight=node)


# Extenders: keys in any case, and timeouts in nanoseconds.


def _extenders(reading: Reading) -> Node | None:
    node = reading.root.get("extenders")
    if not isinstance(node, Sequence):
        return None
    listed = Sequence(node.span, tuple(_extender(reading, item) for item in node.items))
    extenders, findings = as_kube_scheduler(listed)
    reading.diagnostics.extend(findings)
    return extenders


def _extender(reading: Reading, node: Node) -> Node:
    if not isinstance(node, Mapping):
        return node
    # A legacy extender has no name. The first published example had an `apiVersion`.
    known = _in_documented_case(reading, node, Extender, without=("name",), ignored=("apiVersion",))
    entries: list[Entry] = []
    for entry in known.entries:
        value = entry.value
        match entry.key.text:
            case "httpTimeout":
                value = _timeout(value)
            case "tlsConfig" if isinstance(value, Mapping):
                value = _in_documented_case(reading, value, ExtenderTls)
            case "managedResources":
                listed = (
                    _in_documented_case(reading, item, ManagedResource)
                    if isinstance(item, Mapping)
                    else item
                    for item in items(value)
                )
                value = Sequence(value.span, tuple(listed))
        entries.append(Entry(entry.key, value))
    return Mapping(node.span, tuple(entries))


def _in_documented_case(
    reading: Reading,
    node: Mapping,
    model: type[Edge],
    *,
    without: tuple[str, ...] = (),
    ignored: tuple[str, ...] = (),
) -> Mapping:
    """The mapping with its keys as the fields of `model` are written; unknown keys are reported."""
    fields = [str(field.alias) for field in model.model_fields.values()]
    by_folded = {name.lower(): name for name in fields if name not in without}
    entries: list[Entry] = []
    for entry in node.entries:
        name = by_folded.get(entry.key.text.lower())
        if name is not None:
            entries.append(Entry(Scalar(entry.key.span, name, name), entry.value))
        elif entry.key.text not in ignored:
            reading.report_unknown(entry.key, by_folded.values())
    return Mapping(node.span, tuple(entries))


def _timeout(value: Node) -> Node:
    """The file counts nanoseconds; 0 means the default of five seconds."""
    if not isinstance(value, Scalar) or not isinstance(value.value, int):
        return value
    written = f"{value.value}ns" if value.value else "5s"
    return Scalar(value.span, written, written)
