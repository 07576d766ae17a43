"""KP312: names in expressions that nothing in the recorded cluster has.

Only literals are checked, each once per expression. The value of a label is reported only if a
similar value exists: a policy may well name what is not there today.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from kpolicy.diagnostics import Diagnostic, Span, nearest
from kpolicy.offline.snapshot_lint.device_names import (
    ATTRIBUTE,
    CLASS,
    DRIVER,
    KINDS,
    DeviceNames,
    is_of_devices,
    named_devices,
)
from kpolicy.offline.snapshots.json_objects import Json, mapping_at
from kpolicy.policy.cel.tree import (
    Call,
    Conditional,
    Fact,
    Field,
    Has,
    MemberRead,
    NewList,
    NewMap,
    OptionalField,
    Present,
    Read,
    Tree,
    own_nodes,
)
from kpolicy.policy.lint.lookups import literal_text
from kpolicy.policy.lint.written import WrittenExpression, WrittenPolicy

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
_TENANT: Final = "tenant.name"
_RESOURCE_MAPS: Final = frozenset({"node.status.allocatable[]", "node.status.capacity[]"})
_RESOURCES: Final = frozenset(
    {"free", "allocatable", "capacity", "requested", "request", "limit", "utilization", "sum"}
)
# The message about a name of this kind, and who could have it.
_MESSAGES: Final = {
    "taint": ("no node in the snapshot has the taint", "node"),
    "resource": ("no node and no pod in the snapshot has the resource", ""),
    "namespace name": ("the snapshot has no namespace", ""),
    "tenant": ("the snapshot has no tenant", ""),
    DRIVER: ("no ResourceSlice in the snapshot has the driver", "ResourceSlice"),
    CLASS: ("the snapshot has no DeviceClass", ""),
    ATTRIBUTE: ("no device in the snapshot has the attribute", "device"),
}
# Every node has these, even if a snapshot does not list them.
_ALWAYS: Final = frozenset({"cpu", "memory", "ephemeral-storage", "pods"})
_SELECTOR_KEY: Final = re.compile(r"(?:^|,)\s*!?\s*([A-Za-z0-9][A-Za-z0-9._/-]*)")


@dataclass(frozen=True, slots=True)
class Named:
    """A name in an expression. `value` is that of a label, or empty."""

    kind: str
    name: str
    span: Span
    value: str = ""


def absent(policy: WrittenPolicy, names: Names) -> Iterator[tuple[WrittenExpression, Named]]:
    """Names that nothing has, each once per expression."""
    for expression in policy.all():
        distinct: dict[tuple[str, str, str], Named] = {}
        for named in _named(expression.tree):
            distinct.setdefault((named.kind, named.name, named.value), named)
        yield from ((expression, at) for at in distinct.values() if _is_absent(at, names))


def absent_name(
    policy: WrittenPolicy, at: WrittenExpression, named: Named, names: Names
) -> Diagnostic:
    """The finding, with a hint at the most similar name."""
    if named.value:
        known, owner = names.labels(named.kind).values[named.name], named.kind
        message = f"no {named.kind} in the snapshot has `{named.name}: {named.value}`"
    else:
        start, owner = _MESSAGES.get(named.kind, ("", named.kind))
        known = names.known(named.kind)
        start = start or f"no {named.kind} in the snapshot has the label"
        message = f"{start} `{named.name}`"
    near = nearest(named.value or named.name, known)
    hint = f"did you mean `{near}`?" if near else ""
    if near and owner:
        count = known[near]
        have = f"1 {owner} has" if count == 1 else f"{count:,} {owner}s have"
        hint = f"{have} `{near}`"
    return policy.finding(at, "KP312", message, named.span, hint)


def labelled(name: str, names: Names) -> tuple[str, Labelled] | None:
    """The kind of object whose labels a fact reads, and the labels of all objects of this kind."""
    kind = _LABELS.get(name)
    return None if kind is None else (kind, names.labels(kind))


def _is_absent(named: Named, names: Names) -> bool:
    if named.value:
        values = names.labels(named.kind).values.get(named.name) or Counter()
        return named.value not in values and bool(nearest(named.value, values))
    is_always = named.kind == "resource" and named.name in _ALWAYS
    is_known = is_always or named.name in names.known(named.kind)
    if named.kind in KINDS:
        # A snapshot that has none of them was perhaps recorded without.
        return bool(names.known(named.kind)) and not is_known
    if named.kind in ("taint", "resource"):
        return bool(names.nodes.total) and not is_known
    if named.kind in ("namespace name", "tenant"):
        return bool(names.namespace_names) and not is_known
    return bool(names.labels(named.kind).total) and not is_known


def _named(tree: Tree) -> Iterator[Named]:
    for part in own_nodes(tree):
        match part:
            case Fact() | MemberRead():
                yield from _of_read(part)
            case Present(read=read):
                yield from _of_read(read)
            case Call("equals_any" | "not_equals_any", (left, right)):
                yield from _of_comparison(left, (right,))
                yield from _of_comparison(right, (left,))
            case Call("in_list", (item, Field(name="deviceClasses"))):
                yield from _texts(CLASS, (item,))
            case Call("in_list", (item, listed)):
                yield from _of_comparison(
                    item, listed.args if isinstance(listed, NewList) else (listed,)
                )
            case Call("selector_string" | "selector_map", (held,)):
                yield from _of_selector(held)
            case Call("optional_index" | "index_map", (holder, key)):
                kind = _ofmapping_at(holder)
                yield from _texts(kind, (key,)) if kind else ()
            case Field(operand=holder) | Has(operand=holder) | OptionalField(operand=holder):
                kind = _ofmapping_at(holder)
                yield from (Named(kind, part.name, part.span),) if kind else ()


def _of_read(read: Read) -> Iterator[Named]:
    kind = _LABELS.get(read.name)
    if kind is not None:
        yield from _texts(kind, read.args[-1:])
        return
    if read.name in _RESOURCE_MAPS:
        yield from _texts("resource", read.args[-1:])
        return
    if is_of_devices(read):
        yield from (Named(kind, name, at.span) for kind, name, at in named_devices(read))
        return
    names = read.name.split(".")
    if "domain" in names or names[-1] == "domains":
        yield from _texts("node", read.args[:1])
    if names[-1] in _RESOURCES:
        strings = [arg for arg in read.args if arg.type.name == "string"]
        yield from _texts("resource", strings[-1:])


def _ofmapping_at(holder: Tree) -> str:
    """The object whose labels the map has, as in `node.metadata.?labels.?zone`; empty if it holds
    none."""
    match holder:
        case Conditional(yes=yes):
            return _ofmapping_at(yes)
        case Call("optional_of_any", (value,)):
            return _ofmapping_at(value)
        case Fact(name=name):
            return _LABELS.get(f"{name}[]", "")
    return ""


def _of_comparison(side: Tree, texts: Iterable[Tree]) -> Iterator[Named]:
    match side:
        case Field(name="key", operand=holder) if holder.type.name in _TAINTS:
            yield from _texts("taint", texts)
        case Fact(name=name) if name in _NAMESPACES:
            yield from _texts("namespace name", texts)
        case Fact(name=name) if name == _TENANT:
            yield from _texts("tenant", texts)
        case _:
            yield from _of_value(side, texts)


def _of_value(side: Tree, texts: Iterable[Tree]) -> Iterator[Named]:
    """A label compared with a text, also by way of `label(x, 'k')`."""
    read = side.yes if isinstance(side, Conditional) else side
    kind = _LABELS.get(read.name) if isinstance(read, Read) else None
    key = literal_text(read.args[-1]) if kind is not None and isinstance(read, Read) else None
    if kind is None or key is None:
        return
    found = _texts(kind, texts)
    yield from (Named(kind, key, named.span, named.name) for named in found if named.name)


def _of_selector(held: Tree) -> Iterator[Named]:
    text = literal_text(held)
    if isinstance(held, NewMap):
        yield from _texts("pod", held.args[::2])
    elif text is not None:
        for found in _SELECTOR_KEY.finditer(re.sub(r"\([^)]*\)", "", text)):
            yield Named("pod", found[1], held.span)


def _texts(kind: str, trees: Iterable[Tree]) -> Iterator[Named]:
    for tree in trees:
        text = literal_text(tree)
        if text is not None:
            yield Named(kind, text, tree.span)


# The most values of one label that are compared.
VALUES_MAX: Final = 1_000


@dataclass(slots=True)
class Labelled:
    """Objects of one kind: how many, which label keys, and the values of each."""

    total: int = 0
    keys: Counter[str] = field(default_factory=Counter)
    values: dict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))

    def take(self, labels: Mapping[str, Any]) -> None:
        self.total += 1
        for key, value in labels.items():
            self.keys[key] += 1
            values = self.values[key]
            if isinstance(value, str) and (value in values or len(values) < VALUES_MAX):
                values[value] += 1


@dataclass(slots=True)
class Names:
    nodes: Labelled = field(default_factory=Labelled)
    pods: Labelled = field(default_factory=Labelled)
    namespaces: Labelled = field(default_factory=Labelled)
    # Namespace objects, and those that pods are in.
    namespace_names: Counter[str] = field(default_factory=Counter)
    taints: Counter[str] = field(default_factory=Counter)
    # The label of namespaces whose values are the tenants; empty: each namespace is one.
    tenant_label: str = ""
    # Names of resources, of nodes or requested by pods.
    resources: Counter[str] = field(default_factory=Counter)
    devices: DeviceNames = field(default_factory=DeviceNames)

    def labels(self, kind: str) -> Labelled:
        return {"node": self.nodes, "pod": self.pods}.get(kind, self.namespaces)

    def known(self, kind: str) -> Counter[str]:
        """All names of a kind. Any other kind than these is an object, whose labels are meant."""
        if kind in KINDS:
            return self.devices.known(kind)
        others = {
            "taint": self.taints,
            "resource": self.resources,
            "namespace name": self.namespace_names,
            "tenant": self._tenants(),
        }
        return others[kind] if kind in others else self.labels(kind).keys

    def _tenants(self) -> Counter[str]:
        """Namespaces without the label are one tenant, whose name is empty."""
        if not self.tenant_label:
            return self.namespace_names
        return Counter({"": 1}) + self.namespaces.values[self.tenant_label]


def names_of(items: Iterable[tuple[str, Json]], tenant_label: str = "") -> Names:
    names = Names(tenant_label=tenant_label)
    for _, item in items:
        kind = item.get("kind")
        metadata = mapping_at(item, "metadata")
        if kind == "Node":
            names.nodes.take(mapping_at(metadata, "labels"))
            names.taints.update(_taints(item))
            for part in ("allocatable", "capacity"):
                names.resources.update(mapping_at(mapping_at(item, "status"), part).keys())
        elif kind == "Pod":
            names.pods.take(mapping_at(metadata, "labels"))
            names.namespace_names[str(metadata.get("namespace") or "default")] += 1
            names.resources.update(_requested(item))
        elif kind == "Namespace":
            names.namespaces.take(mapping_at(metadata, "labels"))
            names.namespace_names[str(metadata.get("name"))] += 1
        elif kind == "ResourceSlice":
            names.devices.take_slice(item)
        elif kind == "DeviceClass":
            names.devices.take_class(str(metadata.get("name")))
    return names


def _list(holder: Mapping[str, Any], name: str) -> Iterator[Mapping[str, Any]]:
    part = holder.get(name)
    yield from (item for item in part if isinstance(item, dict)) if isinstance(part, list) else ()


def _taints(node: Json) -> Iterator[str]:
    return (str(taint.get("key")) for taint in _list(mapping_at(node, "spec"), "taints"))


def _requested(pod: Json) -> Iterator[str]:
    for containers in ("containers", "initContainers"):
        for container in _list(mapping_at(pod, "spec"), containers):
            for part in ("requests", "limits"):
                yield from mapping_at(mapping_at(container, "resources"), part)
