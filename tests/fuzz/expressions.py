"""Random expressions, most of them of the right types, some not."""

from __future__ import annotations

from random import Random
from typing import Final

_BOOLS: Final = (
    "true",
    "false",
    "node.ready",
    "node.unschedulable",
    "'a' in node.labels",
    "node.fits(pod)",
    "has(pod.labels.a)",
    "has(pod.controller)",
    "pod.hostNetwork",
    "variables.a",
    "params.a",
)
_INTS: Final = (
    "0",
    "1",
    "-1",
    "9223372036854775807",
    "pod.priority",
    "node.podCount",
    "node.free('cpu')",
    "pod.request('memory')",
    "cpu('500m')",
    "node.pods.count(selector('a=b'))",
    "cluster.nodeCount",
    "node.domain('zone').pods.count(selector(pod.labels))",
    "int(node.annotations['a'])",
)
_TEXTS: Final = (
    "''",
    "'a'",
    "'\\\\n'",
    "node.name",
    "pod.namespace",
    "node.labels['a']",
    "pod.labels.b",
    "label(node, 'zone')",
    "namespaceObject.labels['t']",
    "node.conditions['Ready']",
    "node.labels[?'a'].orValue('x')",
    "pod.controller.kind",
    "node.labels[pod.name]",
    "{'a': 'b'}.a",
)
_LISTS: Final = ("[]", "['a', 'b']", "pod.images", "node.taints", "pod.containers", "node.pods")


def expression(chance: Random, depth: int) -> str:
    return chance.choice((_bool, _bool, _int, _text))(chance, depth)


def _bool(chance: Random, depth: int) -> str:
    if depth <= 0:
        return chance.choice(_BOOLS)
    a, b = _bool(chance, depth - 1), _bool(chance, depth - 1)
    match chance.randrange(8):
        case 0 | 1:
            return f"({a} {chance.choice(('&&', '||'))} {b})"
        case 2:
            return f"!({a})"
        case 3:
            return f"({a} ? {b} : {chance.choice(_BOOLS)})"
        case 4:
            mark = chance.choice(("==", "!=", "<", "<=", ">", ">="))
            return f"{_int(chance, depth - 1)} {mark} {_int(chance, depth - 1)}"
        case 5:
            mark = chance.choice(("==", "!=", "in ['a', 'b'] ||  ''==", "+ 'x' =="))
            return f"{_text(chance, depth - 1)} {mark} {_text(chance, depth - 1)}"
        case 6:
            macro = chance.choice(("all", "exists", "exists_one"))
            return f"{chance.choice(_LISTS)}.{macro}(x, {a})"
        case _:
            method = chance.choice(("startsWith", "contains", "matches"))
            return f"{_text(chance, depth - 1)}.{method}({_text(chance, 0)})"


def _int(chance: Random, depth: int) -> str:
    if depth <= 0:
        return chance.choice(_INTS)
    a, b = _int(chance, depth - 1), _int(chance, depth - 1)
    match chance.randrange(4):
        case 0 | 1:
            return f"({a} {chance.choice('+-*/%')} {b})"
        case 2:
            return f"({_bool(chance, depth - 1)} ? {a} : {b})"
        case _:
            form = chance.choice(("clamp({}, 0, {})", "math.least({}, {})", "int(ratio({}, {}))"))
            return form.format(a, b)


def _text(chance: Random, depth: int) -> str:
    if depth <= 0:
        return chance.choice(_TEXTS)
    match chance.randrange(3):
        case 0:
            return f"({_text(chance, depth - 1)} + {_text(chance, depth - 1)})"
        case 1:
            return f"({_bool(chance, depth - 1)} ? {_text(chance, 0)} : {_text(chance, depth - 1)})"
        case _:
            return f"string({_int(chance, depth - 1)})"
