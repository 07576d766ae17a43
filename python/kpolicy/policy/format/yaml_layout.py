"""Lays out a YAML document: indentation by two spaces, keys in order, comments kept in place.

Scalars and collections in flow style keep their text; block scalars move as a whole. The root must
be in block style. The order of keys is given by tables; other keys follow in the order of the file.
`reformat` checks that the meaning stays the same.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final

from kpolicy.policy.yaml.nodes import Mapping, Node, Scalar, Sequence

_RULE: Final = (
    "builtin",
    "name",
    "description",
    "enabled",
    "weight",
    "enforcement",
    "matchConditions",
    "args",
    "expression",
    "message",
    "messageExpression",
    "reason",
    "preemptible",
    "helpedBy",
    "normalize",
    "onError",
)
_CONDITION: Final = ("name", "expression")
_SPEC: Final = (
    "profiles",
    "base",
    "order",
    "minEngine",
    "compatibility",
    "shadow",
    "failurePolicy",
    "params",
    "paramsFrom",
    "limits",
    "matchConditions",
    "variables",
    "predicateOrder",
    "implicit",
    "evaluateAll",
    "interPodAffinity",
    "predicates",
    "priorities",
    "devices",
    "percentageOfNodesToScore",
    "tieBreak",
    "preemption",
    "extenders",
    "plugins",
)
_PLUGIN_SET: Final = ("enabled", "disabled")
_EXTENDER: Final = (
    "name",
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

# By path; `*` is any item of a list or any key of a map.
_ORDERS: Final[dict[tuple[str, ...], tuple[str, ...]]] = {
    (): ("apiVersion", "kind", "metadata", "spec"),
    ("metadata",): ("name", "namespace", "labels", "annotations"),
    ("spec",): _SPEC,
    ("spec", "profiles", "*"): ("schedulerName", "percentageOfNodesToScore", "overrides"),
    ("spec", "profiles", "*", "overrides"): ("predicates", "priorities"),
    ("spec", "profiles", "*", "overrides", "predicates", "*"): ("name", "enabled"),
    ("spec", "profiles", "*", "overrides", "priorities", "*"): ("name", "enabled", "weight"),
    ("spec", "matchConditions", "*"): _CONDITION,
    ("spec", "params", "*"): ("type", "unit", "default", "minimum", "maximum", "description"),
    ("spec", "paramsFrom", "*", "configMap"): ("namespace", "name", "optional"),
    ("spec", "variables", "*"): _CONDITION,
    ("spec", "predicates", "*"): _RULE,
    ("spec", "predicates", "*", "matchConditions", "*"): _CONDITION,
    ("spec", "priorities", "*"): _RULE,
    ("spec", "priorities", "*", "matchConditions", "*"): _CONDITION,
    ("spec", "priorities", "*", "normalize"): ("method", "from", "to", "points"),
    ("spec", "devices", "score", "*"): _RULE,
    ("spec", "devices", "score", "*", "matchConditions", "*"): _CONDITION,
    ("spec", "preemption"): (
        "policy",
        "minCandidateNodesPercentage",
        "minCandidateNodesAbsolute",
        "victims",
        "order",
        "freesDevices",
    ),
    ("spec", "queue"): (
        "tenantLabel",
        "order",
        "holds",
        "podInitialBackoff",
        "podMaxBackoff",
        "flushAfter",
        "flushPeriod",
    ),
    ("spec", "queue", "order"): ("expression", "maxOvertakes"),
    ("spec", "queue", "holds", "*"): (
        "name",
        "description",
        "matchConditions",
        "when",
        "message",
        "messageExpression",
        "reason",
    ),
    ("spec", "queue", "holds", "*", "matchConditions", "*"): _CONDITION,
    ("spec", "extenders", "*"): _EXTENDER,
    ("spec", "plugins"): (
        "multiPoint",
        "preEnqueue",
        "queueSort",
        "reserve",
        "permit",
        "preBind",
        "bind",
        "postBind",
    ),
    ("spec", "plugins", "*"): _PLUGIN_SET,
    ("spec", "extenders", "*", "managedResources", "*"): ("name", "ignoredByScheduler"),
}


def ordered(path: _Path, keys: Iterable[str]) -> list[str]:
    """The keys of the mapping at `path` in the usual order; a list item is `*` in the path."""
    listed = list(keys)
    # The key of a map such as `params` may be any name, which the tables write as `*`.
    order = _ORDERS.get(path) or _ORDERS.get((*path[:-1], "*"), ()) if path else _ORDERS[()]
    ranks = {key: rank for rank, key in enumerate(order)}
    return sorted(listed, key=lambda key: ranks.get(key, len(ranks)))


_TRAILING: Final = re.compile(r"[ \t]+(#[^\n]*)")
_BLOCK_HEADER: Final = re.compile(r"[|>][-+]?([1-9]?)[-+]?")
Order = Callable[[tuple[str, ...], list[str]], list[str]]
_Path = tuple[str, ...]


@dataclass(slots=True)
class Gap:
    """The lines between two nodes: comments with their columns, and None for a blank line."""

    lines: list[tuple[int, str] | None] = field(default_factory=list)

    def written(self, indent: int | None) -> Iterator[str]:
        """All lines at one column, or each at its own; several blank lines become one."""
        before: tuple[int, str] | None = (0, "")
        for line in self.lines:
            if line is not None:
                yield " " * (line[0] if indent is None else indent) + line[1]
            elif before is not None:
                yield ""
            before = line

    def __bool__(self) -> bool:
        return any(line is not None for line in self.lines)


@dataclass(slots=True)
class _Child:
    """An entry of a mapping or an item of a sequence, with the lines above and below it."""

    node: Node
    key: Scalar | None = None
    lead: Gap = field(default_factory=Gap)
    foot: Gap = field(default_factory=Gap)


class Layout:
    """Writes the nodes of one text."""

    def __init__(self, text: str, order: Order) -> None:
        self._text = text
        self._order = order

    def root(self, node: Mapping, tail: Gap) -> list[str]:
        """The lines of a document, and of the comments after it."""
        children = self._children(node, Gap())
        rest = self._split(children[-1], tail, 0)
        lines = self._written(self._in_order(children, ()), (), 0)
        return [*lines, *rest.written(0)]

    def gap(self, start: int, end: int) -> Gap:
        """The lines between two offsets, without the rest of the first and last line."""
        found = Gap()
        for line in self._text[start:end].split("\n")[1:-1]:
            bare = line.strip()
            if not bare:
                found.lines.append(None)
            # A dash may be alone above its item, with a comment after it.
            elif (comment := bare.lstrip("- \t")).startswith("#"):
                found.lines.append((len(line) - len(line.lstrip()), comment))
        return found

    def end(self, node: Node) -> int:
        """The end of a node's text; the line break after a block scalar is not part of it."""
        start, end = node.span.start, node.span.end
        if isinstance(node, Scalar) and node.style in ("|", ">"):
            if "+" in self._text[start:end].split("\n", 1)[0].split("#")[0]:
                return end - 1 if self._text[end - 1 : end] == "\n" else end
            return start + len(self._text[start:end].rstrip("\n"))
        if isinstance(node, Scalar) or self.is_flow(node):
            return end
        last = node.entries[-1].value if isinstance(node, Mapping) else node.items[-1]
        return self.end(last)

    def is_flow(self, node: Node) -> bool:
        return not isinstance(node, Scalar) and self._text[
            node.span.start : node.span.start + 1
        ] in (
            "{",
            "[",
        )

    # Collections.

    def _collection(
        self, node: Mapping | Sequence, path: _Path, indent: int, lead: Gap
    ) -> list[str]:
        children = self._children(node, lead)
        if isinstance(node, Mapping):
            children = self._in_order(children, path)
        return self._written(children, path, indent)

    def _written(self, children: list[_Child], path: _Path, indent: int) -> list[str]:
        lines: list[str] = []
        for child in children:
            lines += child.lead.written(indent)
            lines += self._child(child, path, indent)
        # Blank lines above the first child are dropped.
        return lines[next(at for at, line in enumerate(lines) if line) :]

    def _children(self, node: Mapping | Sequence, lead: Gap) -> list[_Child]:
        found: list[_Child] = []
        column = self._column(node)
        parts: list[tuple[Scalar | None, Node]] = (
            [(entry.key, entry.value) for entry in node.entries]
            if isinstance(node, Mapping)
            else [(None, item) for item in node.items]
        )
        for key, value in parts:
            child = _Child(value, key)
            if found:
                before = found[-1].node
                between = self.gap(self.end(before), (key or value).span.start)
                child.lead = self._split(found[-1], between, column)
            else:
                # There may be lines between a dash and its item.
                own = self.gap(node.span.start, value.span.start) if key is None else Gap()
                child.lead = Gap([*lead.lines, *own.lines])
            found.append(child)
        return found

    def _split(self, before: _Child, between: Gap, column: int) -> Gap:
        """Comments that are indented deeper than the next node belong to the node before them."""
        deeper = 0
        for number, line in enumerate(between.lines):
            if line is not None and line[0] <= column:
                break
            deeper = number + 1 if line is not None else deeper
        if self._is_open(before.node):
            before.foot = Gap(between.lines[:deeper])
            return Gap(between.lines[deeper:])
        return between

    def _is_open(self, node: Node) -> bool:
        """Whether further lines can follow inside the node."""
        return not isinstance(node, Scalar) and not self.is_flow(node)

    def _in_order(self, children: list[_Child], path: _Path) -> list[_Child]:
        by_key = {child.key.text: child for child in children if child.key is not None}
        return [by_key[key] for key in self._order(path, list(by_key))]

    # One child.

    def _child(self, child: _Child, path: _Path, indent: int) -> list[str]:
        node, key = child.node, child.key
        mark, name = "-", "*"
        lead = Gap()
        if key is not None:
            mark, name = f"{self._text[key.span.start : key.span.end]}:", key.text
            lead = self._after_key(key, node)
        if isinstance(node, Scalar) or self.is_flow(node):
            leaf = self._leaf(node, f"{' ' * indent}{mark}", indent)
            return [*lead.written(indent), *leaf]
        assert isinstance(node, (Mapping, Sequence))
        inner = self._collection(node, (*path, name), indent + 2, lead)
        if key is not None:
            comment = self._trailing(self._after_colon(key.span.end), node.span.start)
            lines = [f"{' ' * indent}{mark}{comment}", *inner]
        else:
            lines = _dashed(inner, indent)
        return [*lines, *self._foot(node, child.foot, indent + 2).written(None)]

    def _after_key(self, key: Scalar, node: Node) -> Gap:
        """Comments between a key and its value, above the value's line."""
        opened = self._after_colon(key.span.end)
        found = self.gap(opened, node.span.start)
        if "\n" in self._text[opened : node.span.start] and not self._is_open(node):
            comment = self._trailing(opened, node.span.start).strip()
            found.lines[:0] = [(0, comment)] if comment else []
        return found

    def _trailing(self, offset: int, limit: int) -> str:
        """The comment that ends the line of `offset`, with the two spaces before it."""
        found = _TRAILING.match(self._text, offset, max(offset, limit))
        return f"  {found.group(1).rstrip()}" if found else ""

    def _after_colon(self, offset: int) -> int:
        colon = self._text.find(":", offset)
        return offset if colon < 0 else colon + 1

    def _foot(self, node: Node, foot: Gap, indent: int) -> Gap:
        """The comments at the end of a node, indented like the collection that they are in."""
        return Gap([line and (self._depth(node, line[0], indent), line[1]) for line in foot.lines])

    def _depth(self, node: Node, column: int, indent: int) -> int:
        """The indentation of the deepest collection at the node's end that reaches the column."""
        found = indent
        while isinstance(node, (Mapping, Sequence)) and not self.is_flow(node):
            found = indent if self._column(node) <= column else found
            node = node.entries[-1].value if isinstance(node, Mapping) else node.items[-1]
            indent += 2
        return found

    def _column(self, node: Node) -> int:
        """The column of the first key, or of the dash."""
        return node.span.start - (self._text.rfind("\n", 0, node.span.start) + 1)

    # Leaves, with their text unchanged.

    def _leaf(self, node: Node, head: str, indent: int) -> list[str]:
        raw = self._text[node.span.start : self.end(node)]
        if isinstance(node, Scalar) and node.style in ("|", ">"):
            return self._block(raw, head, indent)
        first, *rest = raw.split("\n")
        lines = [f"{head} {first.rstrip()}" if first else head]
        if rest and isinstance(node, Scalar):
            lines += [" " * (indent + 2) + line.strip() if line.strip() else "" for line in rest]
        elif rest:
            lines += self._shifted(rest, indent)
        lines[-1] += self._trailing(self.end(node), len(self._text))
        return lines

    def _shifted(self, rest: list[str], indent: int) -> list[str]:
        """The lines of a collection in flow style, moved together, with its end under its key."""
        columns = [len(line) - len(line.lstrip()) for line in rest if line.strip()]
        last_closes = rest[-1].strip()[:1] in ("}", "]")
        least = min(columns[:-1] if last_closes and len(columns) > 1 else columns, default=0)
        moved = []
        for line in rest:
            bare = line.strip()
            own = len(line) - len(line.lstrip())
            closes = line is rest[-1] and last_closes
            column = indent if closes else indent + 2 + max(0, own - least)
            moved.append(" " * column + bare if bare else "")
        return moved

    def _block(self, raw: str, head: str, indent: int) -> list[str]:
        header, *content = raw.split("\n")
        filled = [line for line in content if line.strip()]
        columns = [len(line) - len(line.lstrip(" ")) for line in filled]
        digit = _BLOCK_HEADER.match(header)
        if digit and digit.group(1):
            # All lines may begin with blanks of the text; the digit gives the indentation.
            width, own = int(digit.group(1)), min(columns, default=0)
            pad = " " * (indent + width)
        else:
            # A block of blank lines only has no indentation of its own.
            longest = max(map(len, content), default=0)
            own, pad = (columns or [longest])[0], " " * (indent + 2)
        # Blanks at the end of a line, or alone on a line, are part of the text.
        kept = [pad + line[own:] if len(line) > own else "" for line in content]
        return [f"{head} {header.rstrip()}", *kept]


def _dashed(lines: list[str], indent: int) -> list[str]:
    """An item of a list, with the comments above its first key moved above the dash."""
    pad = " " * indent
    first = next(at for at, line in enumerate(lines) if line and not line.lstrip().startswith("#"))
    above = [pad + line.lstrip() if line else "" for line in lines[:first]]
    return [*above, f"{pad}- {lines[first].lstrip()}", *lines[first + 1 :]]
