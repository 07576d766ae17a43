"""Random expressions from the table of functions, for the test that compares costs.

Every function is called with operands of its types: literals, facts of a node and its pods, and
calls of other functions. Many calls err; what they did until then has been charged.
"""

from __future__ import annotations

from random import Random
from typing import Final

from kpolicy.policy.cel.calls import BY_NAME
from kpolicy.policy.cel.functions_standard import Overload
from kpolicy.policy.cel.types import Type

DEPTH_MAX: Final = 3

_LEAVES: Final = {
    "int": ("0", "2", "-1", "7", "40", "node.podCount", "pod.priority", "node.free('cpu')"),
    "uint": ("0u", "3u"),
    "double": ("0.5", "-2.0", "1e300", "node.utilization('cpu')"),
    "bool": ("true", "false", "node.ready", "'zone' in node.labels", "pod.hostNetwork"),
    "string": (
        "''",
        "','",
        "'a'",
        "'ä€'",
        "'1.2.3'",
        "'10.0.0.1'",
        "'10.0.0.0/8'",
        "'2026-01-01T00:00:00Z'",
        "'1h30m'",
        "'500m'",
        "'https://example.com:80/a?b=c&b=d'",
        "'app=web,zone in (a, b)'",
        "node.name",
        "node.labels['zone']",
        "label(node, 'zone')",
        "pod.labels['app']",
        "pod.annotations['long']",
        "node.annotations['long']",
        "'%s-%d-%s'",
    ),
    "bytes": ("b''", "b'abc'", "bytes(node.annotations['long'])"),
    "timestamp": ("timestamp('2026-01-01T00:00:00Z')", "timestamp(pod.priority)"),
    "duration": ("duration('90s')",),
    "null": ("null",),
    "quantity": ("quantity('500m')", "quantity(string(pod.priority))"),
    "selector": ("selector('app=web')", "selector({'app': pod.labels['app']})"),
    "ip": ("ip('10.0.0.1')",),
    "cidr": ("cidr('10.0.0.0/8')",),
    "semver": ("semver('1.2.3')",),
    "url": ("url('https://example.com:80/a?b=c&b=d')",),
    "format": ("format.dns1123Label()",),
    "type": ("int", "type(1)"),
    "list(string)": (
        "pod.images",
        "['b', 'a', node.name]",
        "node.name.split('')",
        "pod.annotations['long'].split(',')",
        "pod.tolerations.map(t, t.key)",
        "node.taints.map(t, t.key + t.value)",
    ),
    "list(int)": ("[3, 1, 2]", "lists.range(20)", "lists.range(pod.priority)", "[]"),
    "map(string,string)": ("node.labels", "pod.labels", "{'a': 'b', 'c': node.name}"),
}
_PATTERNS: Final = ("'^[a-z0-9-]{1,20}$'", "'a'", "'[a-z]+'", "'.'")
_ITEMS: Final = ("int", "string", "double", "bool")
_SYMBOLS: Final = {"_in_": "in"}
_CONSTANTS: Final = {
    "timestamp": "'2026-01-01T00:00:00Z'",
    "duration": "'1h30m'",
    "quantity": "'500m'",
    "selector": "'app=web'",
    "ip": "'10.0.0.1'",
    "cidr": "'10.0.0.0/8'",
    "semver": "'1.2.3'",
    "url": "'https://example.com:80/a'",
}
_LOOPS: Final = (
    "{list}.{test}(x, x == {item})",
    "{list}.map(x, [x, x]).flatten().{test}(y, y == {item})",
    "{list}.sortBy(x, x).{test}(x, {item} == x)",
    "{list}.transformMap(i, x, string(x)).{test}(k, k > 1)",
    "{list}.transformMapEntry(i, x, {{string(i): x}}).size() > 1",
    "{list}.filter(x, x in {list}).size() > 0",
    "{map}.{test}(k, v, k + v == {text})",
    "{map}.transformList(k, v, k + v).join({text}) == {text}",
    "{map}.transformMap(k, v, v.replace('a', {text})).size() > 1",
    "node.pods.{test}(p, p.name == {text})",
    "node.pods.{test}(p, p.labels['app'] == {text} && p.priority >= {number})",
    "node.pods.{test}(p, selector('app=web').matches(p.labels))",
    "node.pods.{test}(p, p.images.{test}(i, i.contains({text})))",
    "node.pods.{test}(p, p.tolerations.{test}(t, t.key == {text}))",
    "node.pods.filter(p, p.priority > {number}).size() > 3",
    "node.taints.{test}(t, pod.tolerates(t) || t.key == {text})",
    "pod.containers.{test}(c, c.requests.{test}(r, r == {text}))",
    "cel.bind(x, {text}, x + x == x)",
    "(node.ready ? {text} : {text}) == node.?labels['zone'].orValue({text})",
    "optional.of({text}).optMap(x, x + x).orValue('') == {text}",
    "cluster.pods.count(selector('app=' + label(node, 'zone') + {text})) > 1",
    "node.domain(label(node, 'zone')).pods.count(selector('app=web')) > {number}",
    "node.domain(label(node, 'zone')).pods.sameController(pod) > {number}",
    "node.pods.sameController(pod) + pod.controllerReplicas > {number}",
    "pod.disruptionBudgets.{test}(b, b.name == {text} || b.disruptionsAllowed > {number})",
)


class Expressions:
    """`used` are the ids of the families that have been called so far."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.used: set[str] = set()
        self._overloads = [each for group in BY_NAME.values() for each in group]

    def next(self) -> str:
        if self.random.random() < 0.4:
            return self._loop()
        return self._call(self.random.choice(self._overloads), DEPTH_MAX)

    def _loop(self) -> str:
        item = self.random.choice(("int", "string"))
        return self.random.choice(_LOOPS).format(
            list=self._value(Type("list", (Type(item),)), 1),
            item=self._value(Type(item), 1),
            map=self._value(Type("map", (Type("string"), Type("string"))), 1),
            text=self._value(Type("string"), 1),
            number=self._value(Type("int"), 1),
            test=self.random.choice(("all", "exists", "exists_one")),
        )

    def _call(self, overload: Overload, depth: int) -> str:
        self.used.add(overload.family.id)
        item = Type(self.random.choice(_ITEMS))
        args = [self._value(_with(param, item), depth - 1) for param in overload.params]
        checked = overload.family.checked
        if checked in _CONSTANTS and self.random.random() < 0.5:
            args[0] = _CONSTANTS[checked]
        if overload.family.pattern is not None:
            args[overload.family.pattern] = self.random.choice(_PATTERNS)
        return _shown(overload, args)

    def _value(self, kind: Type, depth: int) -> str:
        if kind.name == "number":
            kind = Type(self.random.choice(("int", "double")))
        if kind.is_parameter or kind.name == "dyn":
            kind = Type(self.random.choice(_ITEMS))
        text = str(kind).replace(", ", ",")
        overloads = [
            each
            for each in self._overloads
            if depth > 0 and each.result == kind and "@" not in each.function
        ]
        if overloads and self.random.random() < 0.6:
            return self._call(self.random.choice(overloads), depth)
        if text in _LEAVES:
            return self.random.choice(_LEAVES[text])
        match kind.name:
            case "list":
                items = [self._value(kind.parameters[0], depth - 1) for _ in range(3)]
                return f"[{', '.join(items)}]"
            case "optional":
                return f"optional.of({self._value(kind.parameters[0], depth - 1)})"
            case "map":
                value = self._value(kind.parameters[1], depth - 1)
                return f"{{{self._value(kind.parameters[0], depth - 1)}: {value}}}"
        raise AssertionError(f"no value of type {kind}")


def _with(kind: Type, item: Type) -> Type:
    """The type with its parameters replaced."""
    if kind.is_parameter:
        return item
    return Type(kind.name, tuple(_with(parameter, item) for parameter in kind.parameters))


def _shown(overload: Overload, args: list[str]) -> str:
    name = overload.function
    if name.startswith("math.@"):
        return f"{name.replace('@', '')}({', '.join(args)})"
    if name[0] in "_!-" and not overload.member:
        symbol = _SYMBOLS.get(name, name.strip("_"))
        if len(args) == 1:
            return f"{symbol}({args[0]})"
        return f"(({args[0]}) {symbol} ({args[1]}))"
    if overload.member:
        return f"({args[0]}).{name}({', '.join(args[1:])})"
    return f"{name}({', '.join(args)})"
