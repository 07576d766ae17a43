"""Every bound of reading a policy, with the reason for it.

Owns the numbers. Assumes nothing. Must not know who obeys them.
"""

from __future__ import annotations

from typing import Final

# A ConfigMap holds at most 1 MiB, so no document that a cluster can carry is larger.
DOCUMENT_BYTES_MAX: Final = 1 << 20
# The deepest legal document (a pluginConfig with node affinity terms) has 14 levels.
TREE_DEPTH_MAX: Final = 64
# A thousand rules of fifty nodes each.
TREE_NODES_MAX: Final = 50_000
# More documents than this in a file is a mistake (a `---` on every line).
DOCUMENTS_MAX: Final = 256
# int64 has 19 digits and a sign; anything longer is read as text.
INTEGER_CHARACTERS_MAX: Final = 20

# `extends` of `extends`: design §4.
EXTENDS_DEPTH_MAX: Final = 4
# Findings of one source after which the rest is summed up: a person reads the first few.
DIAGNOSTICS_MAX: Final = 500
# Rounds of leaving out what is wrong and looking at the rest.
RECOVERY_ROUNDS_MAX: Final = 16

# The engine's: what an expression may cost on a node, and what the rules of a policy may cost on
# all nodes together.
COST_PER_NODE_MAX: Final = 10_000
COST_PER_CYCLE_MAX: Final = 500_000_000

RULES_MAX: Final = 1_000
# legacy NodePreferAvoidPods needs 10,000 and lexicographic weights more.
WEIGHT_MAX: Final = 1_000_000
# The engine's: a total of hundredfolds then fits 32 bits.
WEIGHTS_MAX: Final = 20_000_000
# Of all expressions of a compilation, variables laid out in each that uses them: a thousand rules
# of a hundred nodes. A text that cannot be parsed counts by its length.
EXPRESSION_NODES_MAX: Final = 100_000
CHARACTERS_A_NODE: Final = 4
# Of the whole program: a rule stands in every profile that has it.
PROGRAM_NODES_MAX: Final = 2_000_000
EXPRESSION_CHARACTERS_MAX: Final = 10 * 1024
MESSAGE_CHARACTERS_MAX: Final = 256
