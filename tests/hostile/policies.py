"""Random policies of dear rules, for `rust/kpolicy-engine/tests/hostile`.

The engine's tests have no compiler, so the compiled form is kept beside them, one policy a line. A
test fails when it is out of date.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any, Final

from kpolicy.policy.compile import compile_policy
from kpolicy.policy.yaml.source import Source

FOLDER: Final = Path(__file__).parents[2] / "rust/kpolicy-engine/tests/hostile"
COMPILED: Final = FOLDER / "policies.json"
# Those that took longest of some 300: `make attack` prints the seeds.
SEEDS: Final = (
    *(7, 9, 12, 13, 16, 17, 20, 22, 23),
    *(1_000_042, 1_000_079, 1_000_174, 1_000_208, 1_000_225, 2_000_035, 3_000_046),
)
# Those of many cheap terms that took longest.
WIDE_SEEDS: Final = (1_000_015, 7_000_001, 7_000_042, 8_000_023, 8_000_035, 8_000_093)
# Those that err on all nodes, where saying why took longest.
ERRING_SEEDS: Final = (
    *(3_000_019, 3_000_023, 3_000_034),
    *(21_000_001, 21_000_021, 21_000_031, 21_000_079, 21_000_081),
)
_RULES_MAX: Final = 8
_DEPTH_MAX: Final = 3
_TRIES_A_RULE: Final = 8

_TEXTS: Final = (
    "node.name",
    "pod.name",
    "label(node, 'common01')",
    "(node.name + pod.name)",
    "string(node.podCount)",
    "label(pod, 'app')",
)
_INTS: Final = (
    "node.podCount",
    "node.free('cpu')",
    "cluster.domains('common00')",
    "node.pods.size()",
    "node.domain('topology.kubernetes.io/zone').pods.count(selector('app=app-7'))",
    "node.domain('topology.kubernetes.io/zone').pods.size()",
)
_PATTERNS: Final = (
    "^(a+)+$",
    "([a-z]+[0-9]+)*x",
    ".*" * 12 + "y",
    "(node-[0-9]{1,40}){1,12}",
    "[\\\\p{L}\\\\p{N}]{1,60}z",
    "(a|b|c|d|e|f|g|h)*node.*[0-9]$",
)
_LISTS: Final = (
    "lists.range({size})",
    "node.pods.map(p, p.name)",
    "pod.containers.map(c, c.image)",
    "node.name.split('-')",
    "node.taints.map(t, t.key)",
    "node.name.split('')",
    "node.labels.map(k, k)",
    "['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h']",
)


_WIDTHS: Final = (20, 60, 128, 400, 1_000)
# What kernels evaluate for all nodes side by side, and what looks like it.
_CHEAP: Final = (
    "label(node, 'common{key:02}') != 'x{number}'",
    "label(node, 'common00') == 'x{number}'",
    "label(node, 'common01') in ['a', 'b', 'x{number}']",
    "'common{key:02}' in node.labels",
    "node.name != 'node-{number}'",
    "node.free('cpu') + {number} > 0",
    "node.free('cpu') / ({number} + node.podCount) < 5",
    "double(node.podCount) * {number}.5 < 7.5",
    "node.podCount % {number} == 1",
    "(node.podCount > {number} ? node.name : label(node, 'common01')) == 'x'",
    "(node.podCount > {number} ? label(node, 'common00') : 'y') == 'x'",
    "(node.podCount > {number} ? 'y' : 'z') != node.name",
    "(node.podCount > {number} || node.free('cpu') < {number}) == true",
    "node.hasImage('image-{number}')",
    "node.conditions['Ready'] == 'x{number}'",
    "node.annotations['a{number}'] == 'x'",
    "node.status.nodeInfo.kubeletVersion != 'v{number}'",
    "node.free('example.com/r{number}') > 0",
    "node.pods.count(selector('app=app-{number}')) > 3",
    "node.pods.sum('cpu', selector('app=app-{number}')) > 3",
    "cluster.pods.count(selector('app=app-{number}')) > 3",
    "cluster.domains('common{key:02}') > {number}",
    "node.domain('topology.kubernetes.io/zone').pods.count(selector('app=app-{number}')) > 9",
    "node.domain('kubernetes.io/hostname').free('example.com/r{number}') > 9",
    "node.ready",
    "size(node.name) > {number}",
)

# What errs on nodes like those of the test.
_ERRING: Final = (
    "node.labels['none{number}'] == 'x'",
    "node.free('cpu') / (node.podCount - 1) > {number}",
    "node.free('memory') * node.free('memory') * {number} > 0",
    "int(node.name) > {number}",
)


@dataclass(frozen=True, slots=True)
class HostilePolicy:
    seed: str
    text: str
    program: dict[str, Any]


def policies(
    seeds: Sequence[int], wide_seeds: Sequence[int], erring_seeds: Sequence[int]
) -> list[HostilePolicy]:
    """Those of the seeds that the compiler accepts."""
    named = (
        *((f"{seed}", Random(seed), _rule, "accept") for seed in seeds),
        *((f"wide {seed}", Random(seed), _wide_rule, "accept") for seed in wide_seeds),
        *((f"erring {seed}", Random(seed), _erring_rule, "reject") for seed in erring_seeds),
    )
    return [policy for each in named if (policy := _policy(*each)) is not None]


def compiled(accepted: list[HostilePolicy]) -> str:
    """One policy a line, so that a change is easy to read."""
    lines = (
        json.dumps(
            {"seed": policy.seed, "rules": policy.text, "program": policy.program}, sort_keys=True
        )
        for policy in accepted
    )
    return "[\n" + ",\n".join(lines) + "\n]\n"


def _policy(
    seed: str, chance: Random, write_rule: Callable[[Random], str], on_error: str
) -> HostilePolicy | None:
    """Rules that the compiler refuses are written anew, as an author would, a few times."""
    count = chance.choice((1, 1, 2, 4, _RULES_MAX))
    filters: list[Any] = []
    scores: list[Any] = []
    for number in range(count * _TRIES_A_RULE):
        if len(filters) + len(scores) == count:
            break
        text = write_rule(chance)
        is_score = chance.random() < 0.25
        rule: dict[str, Any] = {
            "name": f"rule-{number}",
            "expression": f"{text} ? 1 : 0" if is_score else text,
        }
        rule |= {"weight": 1} if is_score else {"message": "no", "onError": on_error}
        found = _compiled([] if is_score else [rule], [rule] if is_score else [])
        if found is not None:
            (scores if is_score else filters).append(rule)
    program = _compiled(filters, scores) if filters or scores else None
    if program is None:
        return None
    text = " ; ".join(rule["expression"] for rule in (*filters, *scores))
    return HostilePolicy(seed, text, program)


def _compiled(predicates: list[Any], priorities: list[Any]) -> dict[str, Any] | None:
    document = {
        "apiVersion": "kpolicy.dev/v1alpha1",
        "kind": "SchedulingPolicy",
        "metadata": {"name": "hostile"},
        "spec": {
            "profiles": [{"schedulerName": "default-scheduler"}],
            "base": "none",
            "predicates": predicates,
            "priorities": priorities,
        },
    }
    found = compile_policy([Source("hostile.yaml", json.dumps(document))])
    if found.program is None:
        return None
    program: dict[str, Any] = json.loads(found.program.bytes)
    return program


def _rule(chance: Random) -> str:
    return _bool(chance, chance.randint(1, _DEPTH_MAX), ())


def _wide_rule(chance: Random) -> str:
    """Many terms that are cheap by themselves, of one kind or of several."""
    return _wide(chance, chance.sample(_CHEAP, k=chance.choice((1, 1, 2, 5))))


def _erring_rule(chance: Random) -> str:
    """A wide rule with a term that errs, or any rule."""
    if chance.random() < 0.3:
        return _rule(chance)
    kinds = chance.sample(_CHEAP, k=chance.choice((0, 1, 2)))
    return _wide(chance, [*kinds, chance.choice(_ERRING)])


def _wide(chance: Random, kinds: Sequence[str]) -> str:
    joined = chance.choice(("&&", "||", "==", "+"))
    terms = [
        chance.choice(kinds).format(key=chance.randrange(8), number=number + 1)
        for number in range(chance.choice(_WIDTHS))
    ]
    if joined != "+":
        return _balanced(terms, joined)
    return f"{_balanced([f'({term} ? 1 : 0)' for term in terms], joined)} < 0"


def _balanced(terms: Sequence[str], joined: str) -> str:
    """The depth of an expression has a bound."""
    if len(terms) == 1:
        return terms[0]
    middle = len(terms) // 2
    return f"({_balanced(terms[:middle], joined)}) {joined} ({_balanced(terms[middle:], joined)})"


def _bool(chance: Random, depth: int, names: tuple[str, ...]) -> str:
    """Loops inside loops; the body of the innermost reads what only evaluating tells."""
    if depth == 0:
        return _comparison(chance, names)
    name = f"v{len(names)}"
    kind = chance.choice(("all", "exists", "exists_one"))
    inner = _bool(chance, depth - 1, (*names, name))
    if chance.random() < 0.15:
        pods = chance.choice(("node.pods", "node.pods"))
        body = f"{name}.labels.exists(k, k == {_text(chance, names)}) || {name}.priority > 5"
        return f"{pods}.{kind}({name}, {body})"
    if chance.random() < 0.2:
        return f"({_bool(chance, depth - 1, names)}) && ({_comparison(chance, names)})"
    return f"{_list(chance, names)}.{kind}({name}, {inner})"


def _list(chance: Random, names: tuple[str, ...]) -> str:
    size = chance.choice((2, 8, 20, 50, 150, 400, 1_000, 4_000))
    text = chance.choice(_LISTS).format(size=size)
    match chance.randrange(8):
        case 0:
            return f"({text} + {text})"
        case 1:
            return f"{text}.map(m, string(m) + {_text(chance, names)})"
        case 2:
            return f"{text}.filter(m, string(m) != {_text(chance, names)})"
        case 3:
            return f"{text}.map(m, string(m)).distinct()"
        case 4:
            return f"{text}.map(m, string(m)).sort()"
        case _:
            return text


def _text(chance: Random, names: tuple[str, ...]) -> str:
    texts = [*_TEXTS, *(f"string({name})" for name in names)]
    text = chance.choice(texts)
    match chance.randrange(9):
        case 0:
            return f"{text}.replace('n', {chance.choice(texts)})"
        case 1:
            return f"{text}.upperAscii()"
        case 2:
            return f"[{text}, {chance.choice(texts)}, {text}].join({chance.choice(texts)})"
        case 3:
            return f"({text} + {chance.choice(texts)})"
        case 4:
            return f"{text}.find('{chance.choice(_PATTERNS)}')"
        case _:
            return text


def _comparison(chance: Random, names: tuple[str, ...]) -> str:
    text = _text(chance, names)
    match chance.randrange(12):
        case 0:
            return f"{text}.matches('{chance.choice(_PATTERNS)}')"
        case 1:
            return f"{text}.matches({_text(chance, names)})"
        case 2:
            return f"{text}.contains({_text(chance, names)})"
        case 3:
            return f"cluster.domains({text}) > 7"
        case 4:
            return f"node.domain({text}).pods.count(selector('app=' + {_text(chance, names)})) > 9"
        case 5:
            return f"node.pods.count(selector('app=' + {text})) > 4"
        case 6:
            return f"size({_list(chance, names)}) > 10000"
        case 7:
            return f"{text} in {_list(chance, names)}.map(m, string(m))"
        case 8:
            return f"isQuantity({text}) || isIP({text}) || isURL({text})"
        case 9:
            return f"{text}.findAll('{chance.choice(_PATTERNS)}').size() > 5"
        case 10:
            return f"cluster.pods.count(selector('app in (a, ' + {text} + ')')) > 99"
        case _:
            return f"{text} == 'x' || {chance.choice(_INTS)} < 0"
