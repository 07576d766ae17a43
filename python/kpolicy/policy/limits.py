"""The limits of reading and compiling a policy, each with its reason."""

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

# The base of a base, and so on: design §4.
BASES_MAX: Final = 4
# The most findings that are shown: a person reads the first few.
DIAGNOSTICS_MAX: Final = 500
# Rounds of leaving out invalid values and validating the rest.
RECOVERY_ROUNDS_MAX: Final = 16

# Limits of the engine: the cost of an expression on one node, and of all rules of a policy on all
# nodes.
COST_PER_NODE_MAX: Final = 10_000
COST_PER_CYCLE_MAX: Final = 500_000_000

RULES_MAX: Final = 1_000
# The holds of a policy, and the pods that may overtake one in an order of the queue.
HOLDS_MAX: Final = 64
OVERTAKES_MAX: Final = 1_000_000
OVERTAKES_DEFAULT: Final = 1_000
# Of one document: each is asked about every allocation that is compared.
DEVICE_SCORES_MAX: Final = 16
# The legacy NodePreferAvoidPods needs 10,000, and weights that rank priorities need more.
WEIGHT_MAX: Final = 1_000_000
# A limit of the engine: a hundred times the sum of the weights fits into 32 bits.
WEIGHTS_MAX: Final = 20_000_000
# IR nodes of all expressions of a compilation, with variables repeated in each expression that uses
# them: a thousand rules of a hundred nodes. A text that cannot be parsed counts by its length.
EXPRESSION_NODES_MAX: Final = 100_000
CHARACTERS_A_NODE: Final = 4
# IR nodes of the whole program: a rule is repeated in every profile that has it.
PROGRAM_NODES_MAX: Final = 2_000_000
# Tenants: documents, rules and expressions of each are compiled and loaded together with those of
# all others, so each has a part of what one policy may have.
TENANT_DOCUMENTS_MAX: Final = 8
TENANT_BYTES_MAX: Final = 64 * 1024
TENANT_RULES_MAX: Final = 64
TENANT_EXPRESSION_NODES_MAX: Final = 5_000
# What the priorities of a tenant may weigh together, unless the operator says otherwise; all
# priorities of kube-scheduler's default profile weigh 14.
TENANT_WEIGHT_DEFAULT: Final = 10
EXPRESSION_CHARACTERS_MAX: Final = 10 * 1024
MESSAGE_CHARACTERS_MAX: Final = 256

# How long pods may wait in the queue, in seconds.
QUEUE_SECONDS_MIN: Final = 0.1
QUEUE_SECONDS_MAX: Final = 86_400
