"""Regular expressions: the engine loads what the compiler accepts, and a refusal has a place."""

from __future__ import annotations

import json
from random import Random
from typing import Final

import pytest

from kpolicy.engine import Engine
from kpolicy.policy.cel.re2_patterns import PROPERTIES, refusal
from kpolicy.policy.compile import Compiled, compile_policy
from tests.unit.policy.policies import policy

ROUNDS: Final = 12
PATTERNS_A_ROUND: Final = 200

_ATOMS: Final = (
    "a",
    "Z",
    "9",
    "é",
    "日",
    "😀",
    "-",
    "}",
    "]",
    " ",
    ".",
    "^",
    "$",
    r"\.",
    r"\-",
    r"\/",
    r"\n",
    r"\d",
    r"\D",
    r"\w",
    r"\W",
    r"\s",
    r"\S",
    r"\pL",
    r"\PN",
    r"\p{Greek}",
    r"\b",
    r"\B",
    r"\A",
    r"\z",
    r"\x41",
    r"\x{1F600}",
    "[a-z]",
    "[^a-z]",
    "[]a]",
    "[^é]",
    "[à-ÿ]",
    "[[:alpha:]_]",
    r"[\w.-]",
    r"[\d\pL-]",
    r"[^\s]",
    "[a-zA-Z0-9_éàö日本]",
    "",
    "(?s)",
    "(?i)",
    "[",
    "(",
    "{",
    "*",
    r"\Z",
    r"\0",
    r"\C",
    r"\h",
    r"\<",
    r"\é",
    "[a&&b]",
    "[[a]",
    "(?=a)",
    "(?P<a>x)",
    "(?<b>x)",
    "{,3}",
    "{2}{3}",
    r"\p{No such}",
    r"\p{^Han}",
    r"\x{D800}",
    "[z-a]",
    "(?#a)",
)
_REPEATS: Final = ("", "", "", "*", "+", "?", "+?", "{3}", "{2,}", "{0,40}", "{7,9}", "{500}")


def _random(chance: Random, depth: int) -> str:
    count = chance.randrange(1, 4)
    text = "".join(_part(chance, depth) + chance.choice(_REPEATS) for _ in range(count))
    return text if chance.randrange(5) else f"{text}|{_part(chance, depth)}"


def _part(chance: Random, depth: int) -> str:
    if depth == 0 or chance.randrange(2):
        return chance.choice(_ATOMS)
    opened = chance.choice(("(", "(?:", "(?i:", "(?s-U:", "(?P<n>"))
    return f"{opened}{_random(chance, depth - 1)})"


def _quoted(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def _compiled(*patterns: str) -> Compiled:
    rules = [
        {"name": f"r{index}", "expression": f"node.name.matches({_quoted(pattern)})"}
        for index, pattern in enumerate(patterns)
    ]
    return compile_policy(policy(f"predicates: {_quoted(rules)}"))


def test_what_has_no_refusal_is_loaded() -> None:
    chance, accepted, refused = Random(7), 0, 0
    for _ in range(ROUNDS):
        drawn = {_random(chance, chance.randrange(4)) for _ in range(PATTERNS_A_ROUND)}
        good = [pattern for pattern in drawn if not refusal(pattern)]
        accepted, refused = accepted + len(good), refused + len(drawn) - len(good)
        compiled = _compiled(*good)
        assert compiled.program is not None, compiled.diagnostics
        assert Engine(0).load(compiled.program.bytes) == []
    assert accepted > 500, (accepted, refused)
    assert refused > 500, (accepted, refused)


def test_every_property_is_known_to_the_engine() -> None:
    compiled = _compiled(*(rf"\p{{{name}}}" for name in sorted(PROPERTIES)))
    assert compiled.program is not None
    assert Engine(0).load(compiled.program.bytes) == []
    assert len(PROPERTIES) == 74


# Many of one part, as many as are let pass: the engine's own limit is never met before.
@pytest.mark.parametrize("atom", [*_ATOMS[:44], "(?i:k)", "(?i:[à-ÿ])", "a?", "(a*)*", "ab|cd|ef"])
def test_the_estimate_is_never_below_what_it_takes(atom: str) -> None:
    def times(count: int) -> str:
        many, few = divmod(count, 1000)
        thousands = f"(?:(?:{atom}){{1000}}){{{many}}}" if many else ""
        return thousands + f"(?:{atom}){{{few}}}"

    low, high = 1, 1_000_000
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if refusal(times(middle)) else (middle, high)
    compiled = _compiled(times(low))
    assert compiled.program is not None
    assert Engine(0).load(compiled.program.bytes) == []


@pytest.mark.parametrize(
    ("pattern", "why"),
    [
        ("(a{1000}){1000}", "too large"),
        (r"\w{900}\w{900}", "too large"),
        ("a{1001}", "no count"),
        ("a{3,2}", "no count"),
        ("(?=a)", "look-around"),
        (r"(a)\1", "not part of RE2"),
        ("a**", "repeated already"),
        ("*a", "nothing stands before"),
        ("[[a]", "escaped"),
        ("[a&&b]", "escaped"),
        ("(" * 15 + "a" + ")" * 15, "nested"),
        ("(?P<a>x)(?P<a>y)", "two groups"),
        ("a)", "nobody opened"),
        ("[a", "not closed"),
    ],
)
def test_what_is_refused_says_why_and_where(pattern: str, why: str) -> None:
    assert why in refusal(pattern)
    found = _compiled(pattern).diagnostics
    assert [finding.code for finding in found] == ["KP207"]
    assert found[0].place is not None
    assert why in found[0].message


@pytest.mark.parametrize(
    "pattern",
    [
        r"^node-\d+$",
        r"[a-z0-9]([-a-z0-9]*[a-z0-9])?",
        "(?i)spot|preemptible",
        r"v\d+(\.\d+){0,2}",
        r"\w+-\w+-\w+",
        "(gpu|tpu)-[0-9a-f]{8,64}",
        r"[\w.-]+@[\w.-]+",
        "a{2,3}?",
        "[-a-z]",
        "[a-]",
    ],
)
def test_what_people_write_is_taken(pattern: str) -> None:
    assert refusal(pattern) == ""
