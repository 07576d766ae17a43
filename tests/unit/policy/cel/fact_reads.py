"""Expressions that read every fact: with literals as arguments, and with what a node tells."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from kpolicy.policy.cel.facts import API_PARTS, CATALOGUE, PATHS_ONLY, Member, ObjectType

# Those that an evaluation for a pod and a node can be asked about.
ROOTS: Final = ("pod", "node", "cluster", "namespaceObject")
# Literals. A selector is none: it is made before any node is asked only where a rule is loaded.
_CONSTANT: Final = {"string": "'zone'", "list(string)": "['default']"}
_LATE: Final = {
    "string": "node.name",
    "selector": "selector({'app': node.name})",
    "list(string)": "[node.name]",
    "Taint": "node.taints[0]",
}


def fact_reads() -> Iterator[str]:
    for root in ROOTS:
        kind = CATALOGUE.types[CATALOGUE.roots[root].type]
        for values in (_CONSTANT, _LATE):
            yield from _below(root, root, kind, values)


def _below(path: str, text: str, kind: ObjectType, values: dict[str, str]) -> Iterator[str]:
    """`path` is the name of a fact, and `text` how it is written with arguments."""
    for name, member in kind.members.items():
        if name in API_PARTS or (member.told_of and path not in member.told_of):
            continue
        if member.method and not all(str(kind) in values for kind in member.params):
            continue
        full, written = f"{path}.{name}", f"{text}.{name}{_arguments(member, values)}"
        if full not in PATHS_ONLY:
            yield written
            if member.entries:
                yield f"{written}[{values['string']}]"
        described = CATALOGUE.types.get(member.result.name)
        is_path = full in PATHS_ONLY or member.result.name == "PodSet"
        if is_path and described is not None:
            yield from _below(full, written, described, values)


def _arguments(member: Member, values: dict[str, str]) -> str:
    if member.of_root:
        return f"({member.of_root})"
    if not member.method:
        return ""
    return f"({', '.join(values[str(kind)] for kind in member.params)})"
