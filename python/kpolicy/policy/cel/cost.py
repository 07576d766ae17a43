"""The most an expression may cost on one node, in the engine's units.

The engine charges for what it really does; the bound here is never below that, as long as values
are no larger than `sizes` assumes. What a node of the tree adds to its operands is `of_tree`'s
business, except for calls (`call_costs`), whose family the tree does not keep.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import Final

from kpolicy.policy.cel import sizes
from kpolicy.policy.cel.facts import (
    API_PARTS,
    ATTRIBUTES_MAX,
    CLUSTER_NODES_MAX,
    IMAGE_NAMES_MAX,
    NODE_DEVICES_MAX,
    NODE_SLICES_MAX,
    POD_IDENTITIES_MAX,
    PODS_PER_NODE_MAX,
    Time,
)
from kpolicy.policy.cel.prices import (
    DEVICE,
    DOMAIN_SUM,
    ELEMENT,
    ENTRIES_SEARCHED,
    FACT,
    IDENTITIES_A_UNIT,
    IMAGE_NAMES_A_UNIT,
    LITERAL,
    LOOKUP,
    MEMBER,
    NODE,
    NODES_A_UNIT,
    POD_MATCHED,
    PODS_COUNT,
    PODS_SUM,
    SLICE,
    SLICES_COMPARED,
)
from kpolicy.policy.cel.sizes import SIZE_MAX, times
from kpolicy.policy.cel.tree import (
    Call,
    Conditional,
    Constant,
    Fact,
    Field,
    Has,
    Loop,
    LoopKind,
    MemberRead,
    NewList,
    NewMap,
    OptionalField,
    Present,
    Read,
    Slot,
    Tree,
    Variable,
)

# A sum over a domain or the cluster whose arguments differ by node is worked out for each of them.
_SUM: int = CLUSTER_NODES_MAX // NODES_A_UNIT + POD_IDENTITIES_MAX // IDENTITIES_A_UNIT
_SUMMED = ("node.domain.", "cluster.")
# What facts walk on a node where the engine does not know their arguments before.
_WALKED: Final = MappingProxyType(
    {
        "node.pods.count": PODS_PER_NODE_MAX * POD_MATCHED,
        "node.pods.sum": PODS_PER_NODE_MAX * POD_MATCHED,
        "node.hasImage": IMAGE_NAMES_MAX // IMAGE_NAMES_A_UNIT,
    }
)
# What the selectors of a class are assumed to take on a device. Most devices of a node are alike,
# and the engine asks about one of them.
_SELECTORS: Final = 64
_SLICES: Final = NODE_SLICES_MAX * (SLICE + NODE_SLICES_MAX // SLICES_COMPARED)
_OF_CLASS: Final = _SLICES + NODE_DEVICES_MAX * (DEVICE + _SELECTORS)
_WITH: Final = _SLICES + NODE_DEVICES_MAX * (DEVICE + ATTRIBUTES_MAX // ENTRIES_SEARCHED)
# What facts walk on each node, also where their arguments are known before.
_ALWAYS_WALKED: Final = MappingProxyType(
    {
        "node.devices.countOfClass": _OF_CLASS,
        "node.devices.freeOfClass": _OF_CLASS,
        "node.devices.countWith": _WITH,
        "node.devices.freeWith": _WITH,
    }
)
# The roots of facts whose lists and maps each node makes; those of others are made once for all.
_MADE_BY_NODE = ("node", "victim", "allocation")


def of_tree(tree: Tree) -> int:
    """The bound for the whole; a variable is evaluated once, however often it is used."""
    return _of(tree, set())


def _of(tree: Tree, seen: set[str]) -> int:
    match tree:
        case Variable(name=name):
            if name in seen:
                return NODE
            seen.add(name)
            return min(NODE + _of(tree.value, seen), SIZE_MAX)
        case Conditional():
            test = _of(tree.test, seen)
            # A variable that only one branch uses may still have to be evaluated afterwards.
            in_yes, in_no = set(seen), set(seen)
            branches = max(_of(tree.yes, in_yes), _of(tree.no, in_no))
            seen |= in_yes & in_no
            return min(NODE + test + branches, SIZE_MAX)
        case Loop():
            inside = sum(_of(operand, seen) for operand in tree.body)
            return min(_of(tree.over, seen) + _of_loop(tree, inside), SIZE_MAX)
    return min(_own(tree) + sum(_of(operand, seen) for operand in tree.operands), SIZE_MAX)


def _own(tree: Tree) -> int:
    """What the node adds to its operands."""
    match tree:
        case Call():
            return tree.cost
        case Fact() | MemberRead():
            return _of_read(tree)
        case Present():
            return _of_read(tree.read)
        case Field() | Has() | OptionalField():
            return NODE + LOOKUP
        case NewList():
            return NODE + LITERAL + len(tree.args)
        case NewMap():
            entries = len(tree.args) // 2
            return NODE + LITERAL + entries * entries.bit_length()
    return NODE


def _of_read(read: Read) -> int:
    if isinstance(read, MemberRead):
        return read.cost + MEMBER + sizes.made(read.type, read.size)
    root, part, *_ = (*read.name.split("."), "")
    is_made = root in _MADE_BY_NODE and part not in API_PARTS
    made = sizes.made(read.type, read.size) if is_made else 0
    once = price(read.name) + made + _ALWAYS_WALKED.get(read.name, 0)
    if all(map(_is_folded, read.args)):
        return once
    summed = _SUM if read.name.startswith(_SUMMED) else 0
    return once + summed + _WALKED.get(read.name, 0)


def price(name: str) -> int:
    """What the engine charges for reading a fact, besides what it walks and makes."""
    if name.endswith((".pods.count", ".pods.sameController")) or name.startswith("node.devices."):
        return PODS_COUNT
    is_walked = name.endswith(".pods.sum") or name.startswith("node.gpus.")
    if is_walked:
        return PODS_SUM
    return DOMAIN_SUM if name.startswith("node.domain.") and name != "node.domain.name" else FACT


def _is_folded(tree: Tree) -> bool:
    """Whether the engine knows it before it looks at any node, and reads the fact only once."""
    if isinstance(tree, Constant):
        return True
    is_late = isinstance(tree, Slot) or tree.time >= Time.NODE_CLASS
    return not is_late and all(map(_is_folded, tree.operands))


def _of_loop(loop: Loop, inside: int) -> int:
    """A loop besides its range; `inside` is what its body takes each time."""
    if loop.kind in (LoopKind.OPTIONAL_MAP, LoopKind.OPTIONAL_FLAT_MAP):
        return NODE + inside
    items = loop.over.size.length
    own = NODE + times(items, ELEMENT + inside)
    match loop.kind:
        case LoopKind.SORT_BY:
            return own + items * items.bit_length()
        case LoopKind.TRANSFORM_MAP:
            return own + items * (1 + items.bit_length())
        case LoopKind.TRANSFORM_MAP_ENTRY:
            entries = times(items, loop.body[-1].size.length)
            return own + entries + entries * (1 + entries.bit_length())
    return own
