"""What people write who know other languages or manifests, and what to write in CEL."""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

_CHOICE: Final = "write `CONDITION ? A : B`"
# Words where an operator or an operand was expected.
WORDS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "and": "write `&&`",
        "or": "write `||`",
        "not": "write `!`",
        "is": "write `==`",
        "if": _CHOICE,
        "then": _CHOICE,
        "else": _CHOICE,
    }
)
NAMES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "True": "write `true`",
        "False": "write `false`",
        "None": "write `null`",
        "nil": "write `null`",
    }
)
FUNCTIONS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "len": "write `x.size()`",
        "length": "write `x.size()`",
        "any": "write `x.exists(item, …)`",
        "get": "write `x['key']`, or `x[?'key'].orValue('')` if the key may be missing",
        "has_key": "write `'key' in x`",
        "lower": "write `x.lowerAscii()`",
        "upper": "write `x.upperAscii()`",
        "toLowerCase": "write `x.lowerAscii()`",
        "toUpperCase": "write `x.upperAscii()`",
        "strip": "write `x.trim()`",
        "match": "write `x.matches('pattern')`",
        "float": "write `double(x)`",
        "now": "write `now`, without parentheses",
        "str": "write `string(x)`",
    }
)
_BUDGETS: Final = "write `pod.disruptionBudgets`; preemption keeps to budgets by itself"
_JUDGED: Final = "write `node.name`: the node that is judged"
_OWNER: Final = "write `pod.controller.name`, `.kind`, or `node.pods.sameController(pod)`"


def _amounts(resource: str) -> Mapping[str, str]:
    """An amount of a resource, by the object of which it is asked."""
    return {
        "Node": f"write `node.free('{resource}')` or `node.allocatable('{resource}')`",
        "Pod": f"write `pod.request('{resource}')`",
    }


# By the name of the member, for any object or by the name of the object.
MEMBERS: Final[Mapping[str, str | Mapping[str, str]]] = MappingProxyType(
    {
        **dict.fromkeys(("pdb", "pdbs", "disruptionBudgets", "podDisruptionBudgets"), _BUDGETS),
        **{resource: _amounts(resource) for resource in ("cpu", "memory")},
        "gpu": _amounts("nvidia.com/gpu"),
        **{
            name: {"Node": f"write `label(node, 'topology.kubernetes.io/{name}')`"}
            for name in ("zone", "region")
        },
        **{name: {"Pod": _OWNER} for name in ("owner", "ownerReferences")},
        **{name: {"Pod": _JUDGED} for name in ("nodeName", "node")},
    }
)
# Parts of a time.
CLOCK: Final[Mapping[str, str]] = MappingProxyType(
    {
        **dict.fromkeys(("hour", "hours"), "write `t.getHours('UTC')`"),
        **dict.fromkeys(("minute", "minutes"), "write `t.getMinutes('UTC')`"),
        **dict.fromkeys(("day", "weekday"), "write `t.getDayOfWeek('UTC')`, 0 is Sunday"),
    }
)


def for_member(name: str, holder: str) -> str:
    """The hint for a member that an object called `holder` has not; empty if there is none."""
    hint = MEMBERS.get(name, "")
    return hint if isinstance(hint, str) else hint.get(holder, "")


_NUMBER: Final = r"[0-9][0-9.]*\Z"
_SUFFIX: Final = r"[munkMGTPE]|[KMGTPE]i"
_NOT: Final = r"(?<![\w.])not\s+\Z"


def for_word(before: str, word: str) -> str:
    """The hint for a word or mark that is not expected after `before`; empty if there is none."""
    number = re.search(_NUMBER, before)
    if number is not None and re.fullmatch(_SUFFIX, word):
        called = "cpu" if word == "m" else "units"
        return f"write `{called}('{number[0]}{word}')`"
    if re.search(_NOT, before):
        return WORDS["not"]
    if word == ":":
        return "a `:` is part of `CONDITION ? A : B` and of maps; to compare, write `==`"
    return WORDS.get(word, "")
