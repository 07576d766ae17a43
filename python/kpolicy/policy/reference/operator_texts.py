"""What each operator, macro and special form means. None of them is a function of the engine."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from kpolicy.policy.reference.texts import Text

# By the name of a function in the table of overloads; the first text is how it is written.
OPERATORS: Final[Mapping[str, tuple[str, Text]]] = MappingProxyType(
    {
        "_+_": ("+", Text("Adds numbers and times; joins texts and lists.", "1 + 2")),
        "_-_": ("-", Text("Subtracts numbers and times.", "node.free('cpu') - cpu('500m')")),
        "_*_": ("*", Text("Multiplies two numbers of the same type.", "2.0 * 1.5")),
        "_/_": (
            "/",
            Text(
                "Divides; for two ints the fraction is cut off, so use `ratio` for scores.", "7 / 2"
            ),
        ),
        "_%_": ("%", Text("The rest of a division of whole numbers.", "7 % 2")),
        "-_": ("-x", Text("The negative of a number.", "-(3)")),
        "!_": ("!", Text("Not: true becomes false.", "!('gpu' in node.labels)")),
        "_==_": ("==", Text("Whether two values are equal.", "node.labels['disk'] == 'ssd'")),
        "_!=_": ("!=", Text("Whether two values are unequal.", "pod.namespace != 'batch'")),
        "_<_": ("<", Text("Whether the first is less.", "pod.priority < 5000")),
        "_<=_": ("<=", Text("Whether the first is less or equal.", "node.podCount <= 10")),
        "_>_": (">", Text("Whether the first is greater.", "node.free('cpu') > cpu('1')")),
        "_>=_": (">=", Text("Whether the first is greater or equal.", "'b' >= 'a'")),
        "_in_": (
            "in",
            Text("Whether a list has the item, or a map the key.", "'disk' in node.labels"),
        ),
    }
)

# Forms that the checker knows by itself, with their types.
FORMS: Final[Mapping[str, tuple[str, Text]]] = MappingProxyType(
    {
        "&&": (
            "bool && bool → bool",
            Text(
                "And; an error of one side does not count if the other side is false.",
                "node.ready && !node.unschedulable",
            ),
        ),
        "||": (
            "bool || bool → bool",
            Text(
                "Or; an error of one side does not count if the other side is true.",
                "node.ready || pod.priority > 9000",
            ),
        ),
        "? :": (
            "bool ? A : A → A",
            Text(
                "The first value if the condition is true, otherwise the second.",
                "node.labels['disk'] == 'ssd' ? 100 : 0",
            ),
        ),
        "[ ]": (
            "list(A)[int] → A, map(A, B)[A] → B",
            Text(
                "An item of a list, or the value of a key; an error if it is not there.",
                "node.labels['zone']",
            ),
        ),
        "[? ]": (
            "list(A)[?int] → optional(A), map(A, B)[?A] → optional(B)",
            Text(
                "As `[ ]`, but empty if it is not there.",
                "node.labels[?'gpu'].orValue('none')",
            ),
        ),
        ".?": (
            "object.?field → optional(A)",
            Text("A field that may be absent.", "pod.?controller.?kind.orValue('none')"),
        ),
        "has": (
            "has(object.field) → bool",
            Text("Whether the field is there.", "has(pod.controller.kind)"),
        ),
        "label": (
            "label(pod or node or namespaceObject, string) → string",
            Text("The label, or an empty text if it is not there.", "label(node, 'gpu') == ''"),
        ),
        "cel.bind": (
            "cel.bind(name, A, expression) → type of the expression",
            Text(
                "Gives a value a name for the expression.",
                "cel.bind(free, node.free('cpu'), free > 0 && free < cpu('64'))",
            ),
        ),
        "or": (
            "optional(A).or(optional(A)) → optional(A)",
            Text(
                "The first optional, or the second if the first is empty.",
                "node.labels[?'rack'].or(node.labels[?'zone']).value()",
            ),
        ),
        "orValue": (
            "optional(A).orValue(A) → A",
            Text(
                "What is in the optional, or the value if it is empty.",
                "node.labels[?'rack'].orValue('unknown')",
            ),
        ),
        "math.greatest": (
            "math.greatest(number, …) → number",
            Text("The greatest of the numbers.", "math.greatest(1, 5, 3)"),
        ),
        "math.least": (
            "math.least(number, …) → number",
            Text("The least of the numbers.", "math.least(100, node.podCount * 10)"),
        ),
    }
)

# Loops: macros with the variables of the loop, by name and number of arguments.
LOOPS: Final[Mapping[str, tuple[str, Text]]] = MappingProxyType(
    {
        "all": (
            "x.all(item, test) → bool, x.all(key, value, test) → bool",
            Text(
                "Whether the test is true of every item; true if there is none.",
                "node.taints.all(taint, taint.effect != 'NoExecute')",
            ),
        ),
        "exists": (
            "x.exists(item, test) → bool, x.exists(key, value, test) → bool",
            Text(
                "Whether the test is true of some item.",
                "pod.tolerations.exists(t, t.key == 'team')",
            ),
        ),
        "exists_one": (
            "x.exists_one(item, test) → bool, x.exists_one(key, value, test) → bool",
            Text("Whether the test is true of exactly one item.", "[1, 2, 2].exists_one(n, n > 1)"),
        ),
        "existsOne": (
            "x.existsOne(item, test) → bool, x.existsOne(key, value, test) → bool",
            Text("The same as `exists_one`.", "[1, 2, 3].existsOne(i, n, i == 2 && n == 3)"),
        ),
        "filter": (
            "x.filter(item, test) → list",
            Text(
                "The items of which the test is true.",
                "node.taints.filter(taint, !pod.tolerates(taint)).size()",
            ),
        ),
        "map": (
            "x.map(item, value) → list, x.map(item, test, value) → list",
            Text(
                "A list of the values, of all items or of those that pass the test.",
                "pod.containers.map(c, c.name)",
            ),
        ),
        "transformList": (
            (
                "x.transformList(key, item, value) → list, "
                "x.transformList(key, item, test, value) → list"
            ),
            Text(
                "As `map`, with the index or the key too.", "[5, 6].transformList(i, n, i * 10 + n)"
            ),
        ),
        "transformMap": (
            "x.transformMap(key, item, value) → map, x.transformMap(key, item, test, value) → map",
            Text(
                "A map with the same keys and other values.",
                "{'a': 1, 'b': 2}.transformMap(k, n, n * 10)",
            ),
        ),
        "transformMapEntry": (
            (
                "x.transformMapEntry(key, item, entry) → map, "
                "x.transformMapEntry(key, item, test, entry) → map"
            ),
            Text(
                "A map with other keys and values; the entry is a map of one entry.",
                "{'a': 'x'}.transformMapEntry(k, v, {v: k})",
            ),
        ),
        "sortBy": (
            "list.sortBy(item, key) → list",
            Text("The list in the order of the keys.", "['bb', 'a'].sortBy(text, text.size())"),
        ),
        "optMap": (
            "optional(A).optMap(value, B) → optional(B)",
            Text(
                "The expression of what is in the optional; empty if it is empty.",
                "node.labels[?'disk'].optMap(disk, disk + '!').orValue('')",
            ),
        ),
        "optFlatMap": (
            "optional(A).optFlatMap(value, optional(B)) → optional(B)",
            Text(
                "As `optMap`, where the expression is an optional itself.",
                "{'a': {'b': 1}}[?'a'].optFlatMap(inner, inner[?'b']).orValue(0)",
            ),
        ),
    }
)
