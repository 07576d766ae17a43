"""The usual order of the keys of a policy, as tables; other keys follow as they are written."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

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
    "normalize",
    "onError",
)
_CONDITION: Final = ("name", "expression")
_SPEC: Final = (
    "profiles",
    "extends",
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
    "percentageOfNodesToScore",
    "tieBreak",
    "preemption",
    "extenders",
)
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
    ("spec", "preemption"): (
        "policy",
        "minCandidateNodesPercentage",
        "minCandidateNodesAbsolute",
        "victims",
        "order",
    ),
    ("spec", "extenders", "*"): _EXTENDER,
    ("spec", "extenders", "*", "managedResources", "*"): ("name", "ignoredByScheduler"),
}


def ordered(path: tuple[str, ...], keys: Iterable[str]) -> list[str]:
    """The keys of the mapping at `path` in the usual order; a list item is `*` in the path."""
    listed = list(keys)
    # The key of a map such as `params` may be any name, which the tables write as `*`.
    order = _ORDERS.get(path) or _ORDERS.get((*path[:-1], "*"), ()) if path else _ORDERS[()]
    ranks = {key: rank for rank, key in enumerate(order)}
    return sorted(listed, key=lambda key: ranks.get(key, len(ranks)))
