"""What evaluating takes, in units of cost: the engine's table (`rust/kpolicy-cel/src/prices.rs`).

A test compares the two tables.
"""

from __future__ import annotations

from typing import Final

NODE: Final = 1
CALL: Final = 1
# The compiler does not know which nodes are kernels, and counts each as a node.
KERNELS: Final = 8
NUMBER_KERNELS: Final = 3
DIVISION_KERNELS: Final = 8
CLASS: Final = 2
LANE: Final = 3
FACT: Final = 3
ELEMENT: Final = 2
LITERAL: Final = 4
LOOKUP: Final = 3
MEMBER: Final = 3
ITEM_MADE: Final = 3
ENTRY_MADE: Final = 9
TEXT_BYTES: Final = 10
COMPARED_BYTES: Final = 100
PARSING: Final = 12
WINDOW: Final = 250
SEARCH: Final = 8
PART: Final = 6
MATCH: Final = 10
REQUIREMENT: Final = 10
PATTERN_BYTES: Final = 4
PATTERN_BYTE: Final = 80
PATTERN_CLASS: Final = 2_000
PATTERN_COUNTED: Final = 200_000
RANGE_MAX: Final = 10_000
# Of pods or nodes that are added up once for all nodes (`rules/prices.rs` of the engine).
PODS_COUNT: Final = 10
PODS_SUM: Final = 30
# Of one node's domain.
DOMAIN_SUM: Final = 6
# Of sums over a domain or the cluster (`rules/expression/world.rs` of the engine).
NODES_A_UNIT: Final = 16
IDENTITIES_A_UNIT: Final = 4
# Of facts of one node (`rules/expression/facts/node.rs` of the engine).
POD_MATCHED: Final = 2
IMAGE_NAMES_A_UNIT: Final = 2
# Of counting devices (`rules/devices/work.rs` of the engine).
DEVICE: Final = 1
ENTRIES_SEARCHED: Final = 8
SLICE: Final = 8
SLICES_COMPARED: Final = 4
