"""The legacy Policy (scheduler.json, releases 1.0 to 1.22) as a SchedulingPolicy document.

Owns the lenient reading of that file and the meaning of what releases disagreed on. Assumes a tree
of any form. Must not know how a policy is compiled. The document it makes keeps the spans of the
file; without a release, names mean what their authors meant.
"""

from __future__ import annotations

import json
from typing import Final

from kpolicy.diagnostics import Diagnostic, Span
from kpolicy.policy.catalogue import remark
from kpolicy.policy.legacy_extenders import extenders
from kpolicy.policy.legacy_predicates import predicates
from kpolicy.policy.legacy_priorities import priorities
from kpolicy.policy.legacy_reading import Reading
from kpolicy.policy.model import API_VERSION, KIND
from kpolicy.policy.release import minor_of
from kpolicy.policy.source import SourceText
from kpolicy.policy.tree import Mapping, Node, Scalar, Sequence, find, made, mapping, string

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
        message = f"this is not JSON: {error.msg[:1].lower()}{error.msg[1:]}"
        hint = "JSON has no comments and no comma after the last item"
        return remark("KP101", message, Span(at, at + 1), hint=hint)
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
