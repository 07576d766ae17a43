"""KP312: names in expressions that nothing in the recorded cluster has.

Owns where expressions name labels, taints, resources and namespaces, by literals only. A name is
told once an expression. A value of a label is told only where one nearly like it exists: a policy
may well speak of what is not there today. Must not know verdicts.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from kpolicy.diagnostics import Diagnostic, Span
from kpolicy.offline.lint.names import Labelled, Names
from kpolicy.policy.cel.tree import Tree
from kpolicy.policy.lint.reads import own
from kpolicy.policy.lint.terms import is_literal
from kpolicy.policy.lint.written import WrittenExpression, WrittenPolicy
from kpolicy.policy.nearest import nearest

_OWNERS: Final = {
    "node": "node",
    "pod": "pod",
    "victim": "pod",
    "namespaceObject": "namespace",
}
# By short fact and by API path.
_LABELS: Final = {
    f"{root}{path}[]": owner
    for root, owner in _OWNERS.items()
    for path in (".labels", ".metadata.labels")
} | {"labels[]": "pod"}
_TAINTS: Final = frozenset({"Taint", "v1.Taint"})
_NAMESPACES: Final = frozenset(
    {
        "pod.namespace",
        "pod.metadata.namespace",
        "namespaceObject.name",
        "namespaceObject.metadata.name",
    }
)
_RESOURCE_MAPS: Final = frozenset({"node.status.allocatable[]", "node.status.capacity[]"})
_RESOURCES: Final = frozenset(
    {"free", "allocatable", "capacity", "requested", "request", "limit", "utilization", "sum"}
)
# Every node has these, whether or not a snapshot lists them.
_ALWAYS: Final = frozenset({"cpu", "memory", "ephemeral-storage", "pods"})
_SELECTOR_KEY: Final = re.compile(r"(?:^|,)\s*!?\s*([A-Za-z0-9][A-Za-z0-9._/-]*)")


@dataclass(frozen=True, slots=True)
class Named:
    """`kind` of thing, of which `name` is wanted; a label's `value` if one is."""

    kind: str
    name: str
    span: Span
    value: str = ""


def absent(policy: WrittenPolicy, names: Names) -> Iterator[tuple[WrittenExpression, Named]]:
    """What nothing has, each name once an expression."""
    for one in policy.all():
        seen: set[tuple[str, str, str]] = set()
        for named in _named(one.tree):
            key = (named.kind, named.name, named.value)
            if key not in seen and _is_absent(named, names):
                yield one, named
            seen.add(key)


def told(policy: WrittenPolicy, at: WrittenExpression, named: Named, names: Names) -> Diagnostic:
    """The finding, with what is nearest to the name."""
    if named.value:
        values = _labelled(named.kind, names).values[named.name]
        near = nearest(named.value, values)
        message = f"no {named.kind} in the snapshot has `{named.name}: {named.value}`"
        hint = f"{_count(values[near], named.kind)} `{near}`"
        return policy.say(at, "KP312", message, named.span, hint)
    message, known, owner = {
        "taint": ("no node in the snapshot has the taint", names.taints, "node"),
        "resource": ("no node and no pod in the snapshot has the resource", names.resources, ""),
        "namespace name": ("the snapshot has no namespace", names.namespace_names, ""),
    }.get(
        named.kind,
        (
            f"no {named.kind} in the snapshot has the label",
            _labelled(named.kind, names).keys,
            named.kind,
        ),
    )
    near = nearest(named.name, known)
    hint = f"did you mean `{near}`?" if near else ""
    if near and owner:
        hint = f"{_count(known[near], owner)} `{near}`"
    return policy.say(at, "KP312", f"{message} `{named.name}`", named.span, hint)


def _count(number: int, owner: str) -> str:
    return f"1 {owner} has" if number == 1 else f"{number:,} {owner}s have"


def labelled(name: str, names: Names) -> tuple[str, Labelled] | None:
    """Whose labels a fact reads, and all of those."""
    kind = _LABELS.get(name)
    return None if kind is None else (kind, _labelled(kind, names))


def _labelled(kind: str, names: Names) -> Labelled:
    return {"node": names.nodes, "pod": names.pods}.get(kind, names.namespaces)


def _is_absent(named: Named, names: Names) -> bool:
    if named.kind == "taint":
        return bool(names.nodes.total) and named.name not in names.taints
    if named.kind == "resource":
        is_known = named.name in names.resources or named.name in _ALWAYS
        return bool(names.nodes.total) and not is_known
    if named.kind == "namespace name":
        return bool(names.namespace_names) and named.name not in names.namespace_names
    held = _labelled(named.kind, names)
    if not named.value:
        return bool(held.total) and named.name not in held.keys
    values = held.values.get(named.name) or Counter()
    return named.value not in values and bool(nearest(named.value, values))


def _named(tree: Tree) -> Iterator[Named]:
    for part in own(tree):
        if part.op in ("fact", "present", "member", "present_member"):
            yield from _of_fact(part)
        elif part.op == "call" and part.name in ("equals_any", "not_equals_any", "in_list"):
            yield from _of_comparison(part)
        elif part.op == "call" and part.name in ("selector_string", "selector_map"):
            yield from _of_selector(part)
        elif part.op in ("optional_field", "field", "has"):
            kind = _of_map(part.args[0])
            yield from (Named(kind, part.name, part.span),) if kind else ()
        elif part.op == "call" and part.name in ("optional_index", "index_map"):
            kind = _of_map(part.args[0])
            yield from _texts(kind, part.args[1:]) if kind else ()


def _of_fact(part: Tree) -> Iterator[Named]:
    kind = _LABELS.get(part.name)
    if kind is not None:
        yield from _texts(kind, part.args[-1:])
        return
    if part.name in _RESOURCE_MAPS:
        yield from _texts("resource", part.args[-1:])
        return
    names = part.name.split(".")
    if "domain" in names or names[-1] == "domains":
        yield from _texts("node", part.args[:1])
    if names[-1] in _RESOURCES:
        strings = [arg for arg in part.args if arg.type.name == "string"]
        yield from _texts("resource", strings[-1:])


def _of_map(holder: Tree) -> str:
    """Whose labels it holds, as in `node.metadata.?labels.?zone`; empty if it holds none."""
    if holder.op == "conditional":
        return _of_map(holder.args[1])
    if holder.op == "call" and holder.name == "optional_of_any":
        return _of_map(holder.args[0])
    return _LABELS.get(f"{holder.name}[]", "") if holder.op == "fact" else ""


def _of_comparison(part: Tree) -> Iterator[Named]:
    for side, other in (part.args, part.args[::-1]):
        texts = other.args if part.name == "in_list" and other.op == "list" else (other,)
        if side.op == "field" and side.name == "key" and side.args[0].type.name in _TAINTS:
            yield from _texts("taint", texts)
        elif side.op == "fact" and side.name in _NAMESPACES:
            yield from _texts("namespace name", texts)
        else:
            yield from _of_value(side, texts)
        if part.name == "in_list":
            return


def _of_value(side: Tree, texts: Iterable[Tree]) -> Iterator[Named]:
    """A label compared with a text, also by way of `label(x, 'k')`."""
    read = side.args[1] if side.op == "conditional" else side
    kind = _LABELS.get(read.name) if read.op in ("fact", "member") else None
    if kind is None or not is_literal(read.args[-1]):
        return
    for named in _texts(kind, texts):
        if named.name:
            yield Named(kind, str(read.args[-1].value), named.span, named.name)


def _of_selector(part: Tree) -> Iterator[Named]:
    (held,) = part.args
    if held.op == "map":
        yield from _texts("pod", held.args[::2])
    elif is_literal(held) and isinstance(held.value, str):
        bare = re.sub(r"\([^)]*\)", "", held.value)
        for found in _SELECTOR_KEY.finditer(bare):
            yield Named("pod", found[1], held.span)


def _texts(kind: str, trees: Iterable[Tree]) -> Iterator[Named]:
    for tree in trees:
        if is_literal(tree) and isinstance(tree.value, str):
            yield Named(kind, tree.value, tree.span)
