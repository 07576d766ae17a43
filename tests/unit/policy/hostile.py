"""Policies with a harmful intent: short texts that could take long or become large, with the codes
that refuse them.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Final

from tests.unit.policy.policies import HEAD, policy

Case = tuple[str, frozenset[str]]


def _predicate(expression: str, message: str = "", message_expression: str = "") -> str:
    rule: dict[str, str] = {"name": "a", "expression": expression}
    rule |= {"message": message} if message else {}
    rule |= {"messageExpression": message_expression} if message_expression else {}
    return policy(f"predicates: [{json.dumps(rule, ensure_ascii=False)}]")


def _variables(written: Sequence[str], use: str = "size(variables.last) > 0") -> str:
    """Each may use the one before as `variables.before`; the last is `variables.last`."""
    listed = []
    for index, text in enumerate(written):
        name = "last" if index == len(written) - 1 else f"v{index}"
        expression = text.replace("variables.before", f"variables.v{index - 1}")
        listed.append({"name": name, "expression": expression})
    rules = [{"name": "a", "expression": use}]
    return policy(f"variables: {json.dumps(listed)}\npredicates: {json.dumps(rules)}")


def _chain(first: str, then: str, count: int, use: str = "size(variables.last) > 0") -> str:
    return _variables([first, *[then] * count], use)


def _rules(count: int, expression: str) -> str:
    rules = [{"name": f"r{index}", "expression": expression} for index in range(count)]
    return json.dumps(rules)


def _nested(levels: int, macro: str, body: str = "true") -> str:
    heads = "".join(f"[1, 2].{macro}(a{index}, " for index in range(levels))
    return heads + body + ")" * levels


def _extending(count: int, base: str) -> str:
    documents = [
        f"{HEAD}metadata: {{name: p{index}}}\nspec: {{base: {base.format(index + 1)}, "
        f"profiles: [{{schedulerName: s{index}}}]}}\n"
        for index in range(count)
    ]
    return "---\n".join(documents)


_LIST: Final = f"[{','.join(['1'] * 3000)}]"
_UNLIKE: Final = " && ".join(f"pod.priority != {number}" for number in range(14))
_TENS: Final = {chr(97 + n): f"[{','.join(['*' + chr(96 + n)] * 9)}]" for n in range(1, 12)}

# Refused before anything is parsed, or by the parser of YAML.
DOCUMENTS: Final[dict[str, Case]] = {
    "bytes": ("a: " + "b" * (1 << 21), frozenset({"KP109"})),
    "documents": ("---\na: 1\n" * 1000, frozenset({"KP101", "KP109"})),
    "empty documents": ("---\n" * 5000, frozenset({"KP109"})),
    "nodes": (f"a: [{'1,' * 60_000}1]", frozenset({"KP109"})),
    "depth of flow lists": ("a: " + "[" * 5000, frozenset({"KP109"})),
    "depth of flow maps": ("{a: " * 3000, frozenset({"KP109"})),
    "depth of blocks": ("".join(" " * n + "a:\n" for n in range(600)), frozenset({"KP109"})),
    "aliases": (
        "a: &a [1,1,1,1,1,1,1,1,1]\n" + "".join(f"{k}: &{k} {v}\n" for k, v in _TENS.items()),
        frozenset({"KP101", "KP108"}),
    ),
    "anchors": ("&a " * 3000 + "x", frozenset({"KP101", "KP108"})),
    "tags": ("!!a " * 3000, frozenset({"KP101"})),
    "equal keys": (policy("order: 1\n" * 3000), frozenset({"KP105"})),
    "rules": (policy(f"predicates: {_rules(2000, 'node.ready')}"), frozenset({"KP113"})),
    "variables": (_chain("1", "1", 2000, "variables.last > 0"), frozenset({"KP113", "KP201"})),
    "extends in a circle": (_extending(50, "p0"), frozenset({"KP120"})),
    "extends very far": (_extending(100, "p{}"), frozenset({"KP120"})),
    "value of a param": (
        policy(f"params: {{p: {{type: list, default: {'[' * 60 + ']' * 60}}}}}"),
        frozenset({"KP103"}),
    ),
    "message": (_predicate("node.ready", message="m" * 5000), frozenset({"KP113"})),
}

# Refused by the length, the brackets or the parser of expressions.
TEXTS: Final[dict[str, Case]] = {
    "length": (_predicate("a" * 11_000), frozenset({"KP112"})),
    "brackets": (_predicate("(" * 5000 + "1" + ")" * 5000), frozenset({"KP112"})),
    "brackets that nobody closes": (_predicate("[" * 9000), frozenset({"KP112"})),
    "ternaries": (_predicate("node.ready ? true : " * 500 + "true"), frozenset({"KP112"})),
    "sum": (_predicate("+".join(["1"] * 5000) + " > 0"), frozenset({"KP112"})),
    "negations": (_predicate("!" * 9000 + "true"), frozenset({"KP112"})),
    "minus": (_predicate("-" * 9000 + "1 > 0"), frozenset({"KP112"})),
    "comparisons": (_predicate("==".join(["true"] * 2000)), frozenset({"KP112"})),
    "fields": (_predicate("pod" + ".a" * 4000), frozenset({"KP112"})),
    "indices": (_predicate("pod.labels" + "['a']" * 1500), frozenset({"KP112"})),
    "calls": (_predicate("node.name" + ".lowerAscii()" * 700 + " == 'a'"), frozenset({"KP112"})),
    "filters in a row": (
        _predicate("[1]" + ".filter(x, true)" * 400 + ".size() > 0"),
        frozenset({"KP112"}),
    ),
    "quotes": (_predicate('"\\' * 5000), frozenset({"KP110"})),
    "escaped quotes": (_predicate("'" + "\\'" * 5000), frozenset({"KP110"})),
    "escaped quotes in three": (_predicate("'''" + "\\'" * 5000), frozenset({"KP110"})),
    "many open quotes": (
        policy(f"predicates: {_rules(45, chr(34) + (chr(92) + chr(34)) * 4500)}"),
        frozenset({"KP110"}),
    ),
    "raw strings": (_predicate("r'" * 4500), frozenset({"KP110"})),
    "backticks": (_predicate("`a" * 5000), frozenset({"KP110"})),
    "a whole number": (_predicate("1" * 9000 + " > 0"), frozenset({"KP207"})),
    "an exponent": (_predicate("1e" + "9" * 9000 + " > 0.0"), frozenset({"KP207"})),
    "hexadecimal": (_predicate("0x" + "f" * 9000 + " > 0"), frozenset({"KP207"})),
    "white space": (_predicate("true" + " " * 9000), frozenset({"KP303"})),
    "zeros": (_predicate("\0" * 5000), frozenset({"KP110"})),
}

# Refused for what they come to: types, cost, nodes.
MEANINGS: Final[dict[str, Case]] = {
    "loops in loops": (_predicate(_nested(20, "all")), frozenset({"KP401"})),
    "lists of lists": (_predicate(_nested(40, "map", "1") + ".size() > 0"), frozenset({"KP401"})),
    "a text doubled": (
        _chain("pod.name", "variables.before + variables.before", 60),
        frozenset({"KP401"}),
    ),
    "a list doubled": (
        _chain("[1]", "variables.before + variables.before", 60),
        frozenset({"KP401"}),
    ),
    "numbers squared": (
        _chain("pod.priority", "variables.before * variables.before", 80, "variables.last > 0"),
        frozenset({"KP112"}),
    ),
    "types in types": (
        _chain("[1]", "[variables.before, variables.before]", 600),
        frozenset({"KP112"}),
    ),
    "maps in maps": (
        _chain("{'a': 1}", "{'a': variables.before, 'b': variables.before}", 600),
        frozenset({"KP112"}),
    ),
    "optionals in optionals": (
        _chain("optional.of(1)", "optional.of(variables.before)", 600, "variables.last.hasValue()"),
        frozenset({"KP112"}),
    ),
    "variables on variables": (
        _chain("1", "variables.before + 1", 180, "variables.last > 0"),
        frozenset({"KP112"}),
    ),
    "conditions of conditions": (
        _chain(
            "node.ready",
            "variables.before ? variables.before : !variables.before",
            90,
            "variables.last",
        ),
        frozenset({"KP112"}),
    ),
    "loops over variables": (
        _chain("[1, 2]", "variables.before.map(x, size(variables.before))", 60),
        frozenset({"KP401"}),
    ),
    "one list in every rule": (
        policy(
            f"variables: [{{name: v, expression: '{_LIST}'}}]\n"
            f"predicates: {_rules(990, 'size(variables.v) > 0')}"
        ),
        frozenset({"KP112", "KP306"}),
    ),
    "a list in every rule": (
        policy(f"predicates: {_rules(90, _LIST + '.size() > 0')}"),
        frozenset({"KP112", "KP306"}),
    ),
    "all rules in every profile": (
        policy(
            f"profiles: [{', '.join(f'{{schedulerName: s{n}}}' for n in range(60))}]\n"
            f"predicates: {_rules(900, _UNLIKE)}",
            profile="",
        ),
        frozenset({"KP112", "KP306"}),
    ),
    "conditions that are one expression": (
        policy(
            "matchConditions: "
            + json.dumps(
                [
                    {"name": f"m{n}", "expression": f"pod.namespace != '{'a' * 60}{n}'"}
                    for n in range(200)
                ]
            )
            + "\npredicates: [{name: a, expression: node.ready}]"
        ),
        frozenset({"KP112"}),
    ),
    "a pattern from the pod": (
        _predicate("node.name.matches(pod.name + '(a+)+$')"),
        frozenset({"KP402"}),
    ),
    "brackets in a pattern": (
        _predicate("node.name.matches('" + "(" * 400 + "a" + ")" * 400 + "')"),
        frozenset({"KP207"}),
    ),
    "an address": (
        _predicate("cidr('" + "1." * 4000 + "/8').containsIP('1.1.1.1')"),
        frozenset({"KP207"}),
    ),
    "an instant": (
        _predicate("timestamp('" + "9" * 8000 + "') > timestamp('2020-01-01T00:00:00Z')"),
        frozenset({"KP207"}),
    ),
}

# Expressions that compile: what they do is bounded where they are evaluated.
EVALUATED: Final[dict[str, str]] = {
    "a text doubled": "cel.bind(a, 'aaaaaaaaaa', "
    + "".join(f"cel.bind({chr(98 + n)}, {chr(97 + n)} + {chr(97 + n)}, " for n in range(24))
    + "size(y) > 0"
    + ")" * 25,
    "a list doubled": "cel.bind(a, [1, 2], "
    + "".join(f"cel.bind({chr(98 + n)}, {chr(97 + n)} + {chr(97 + n)}, " for n in range(24))
    + "size(y) > 0"
    + ")" * 25,
    "a text replaced by itself": "cel.bind(a, 'aaaaaaaaaa', "
    + "".join(
        f"cel.bind({chr(98 + n)}, {chr(97 + n)}.replace('a', {chr(97 + n)}), " for n in range(10)
    )
    + "size(k) > 0"
    + ")" * 11,
    "lists joined": "cel.bind(a, 'aaaa', "
    + "".join(
        f"cel.bind({chr(98 + n)}, [{', '.join([chr(97 + n)] * 9)}].join({chr(97 + n)}), "
        for n in range(12)
    )
    + "size(m) > 0"
    + ")" * 13,
    "texts formatted": "cel.bind(a, 'aaaa', "
    + "".join(
        f"cel.bind({chr(98 + n)}, '{'%s' * 9}'.format([{', '.join([chr(97 + n)] * 9)}]), "
        for n in range(12)
    )
    + "size(m) > 0"
    + ")" * 13,
    "a text split": "('"
    + "a" * 5000
    + "').split('').map(x, ('"
    + "b" * 3000
    + "').split('')).size() > 0",
    "a range": "lists.range(1000000000).size() > 0",
    "ranges in ranges": "lists.range(4000).all(a, lists.range(4000).all(b, a + b >= 0))",
    "a range sorted": "lists.range(1000000).sortBy(a, -a).size() > 0",
    "lists flattened": "[1]"
    + ".map(x, [x, x, x, x, x, x, x, x, x]).flatten()" * 20
    + ".size() > 0",
    "texts in texts": "('" + "a" * 5000 + "').indexOf('" + "a" * 4000 + "b') < 0",
    "a large pattern": "'a'.matches('(a{1000}){1000}')",
    "a pattern of letters": "'a'.matches('" + "\\\\\\\\w{900}" * 20 + "')",
    "a pattern that repeats repeats": "('" + "a" * 5000 + "!').matches('(a+)+$')",
    "many places after the point": "'%.999999999f'.format([1.0]) == ''",
    "a quantity": "quantity('" + "9" * 9000 + "').isGreaterThan(quantity('1'))",
    "a quantity's exponent": "quantity('1e999999999').isGreaterThan(quantity('1'))",
    "a version": "semver('" + "1" * 3000 + ".1.1').isLessThan(semver('1.0.0'))",
    "an address": "isIP('" + ":" * 9000 + "')",
    "an address in IPv6": "isIP('" + "1:" * 4500 + "')",
    "a duration": "duration('" + "1h" * 4500 + "') > duration('1s')",
    "a URL": "isURL('http://" + "a%41" * 2000 + "')",
    "a selector": "selector('" + ",".join(f"a{n}=b" for n in range(1200)) + "').matches({})",
    "base64": "base64.decode('" + "aaaa" * 2400 + "').size() > 0",
    "sets": "sets.contains(lists.range(5000), lists.range(5000))",
    "distinct": "lists.range(20000).distinct().size() > 0",
    "a slice": "lists.range(9000).slice(0, 9000).reverse().size() > 0",
    "one map": "{" + ", ".join(f"{n}: 1" for n in range(1200)) + "}.size() > 0",
}
