"""Extenders of the legacy Policy, as those of a SchedulingPolicy.

Owns keys of any case, timeouts in nanoseconds, and keys that were never read. Assumes a tree of any
form. Must not know the protocol. What is out of range is found in the document it becomes.
"""

from __future__ import annotations

from typing import Final

from kpolicy.diagnostics import Diagnostic, Severity
from kpolicy.policy.catalogue import remark
from kpolicy.policy.nearest import did_you_mean
from kpolicy.policy.tree import Entry, Mapping, Node, Scalar, Sequence, items

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
