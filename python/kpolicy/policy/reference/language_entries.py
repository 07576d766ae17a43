"""The entries of the language: facts, functions, operators, macros, from the compiler's tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Final

from kpolicy.policy.cel import Environment, compile_expression
from kpolicy.policy.cel.calls import FAMILIES
from kpolicy.policy.cel.facts import CATALOGUE, VICTIM, Member, ObjectType, Time
from kpolicy.policy.cel.functions_standard import Family, Overload, overloads_of
from kpolicy.policy.cel.prices import LOOKUP, PARSING, TEXT_BYTES, WINDOW
from kpolicy.policy.cel.types import Type
from kpolicy.policy.reference import operator_texts
from kpolicy.policy.reference.entry import Entry
from kpolicy.policy.reference.fact_texts import MEMBERS, ROOTS
from kpolicy.policy.reference.function_texts import LIBRARIES
from kpolicy.policy.reference.texts import Text

FACT: Final = "fact"
FIELD: Final = "field of a value"
FUNCTION: Final = "function"
MACRO: Final = "macro"
OPERATOR: Final = "operator"
_KNOWN: Final = MappingProxyType(
    {
        Time.CONST: "before any pod",
        Time.PARAMS: "before any pod",
        Time.CLUSTER: "once for the whole cluster",
        Time.POD: "once for each pod",
        Time.NODE_CLASS: "once for nodes with the same labels and taints",
        Time.NODE: "for each node",
        Time.DOMAIN: "once for each domain",
    }
)
# By the way of charging (`call_costs`): what a call takes besides its operands.
_CHARGED: Final = MappingProxyType(
    {
        "unit": "",
        "texts": f"1 for {TEXT_BYTES} bytes of the texts",
        "first text": f"1 for {TEXT_BYTES} bytes of the text",
        "last text": f"1 for {TEXT_BYTES} bytes of the last text",
        "add": "the length of texts and lists",
        "same": "what is compared, to the end",
        "order": "the length of the shorter text",
        "in": f"{LOOKUP} for a map, every item of a list",
        "size": "the length of a text",
        "to string": "the length of the text",
        "pattern": "the length of the text, times that of the pattern",
        "find": "the length of the text, times that of the pattern",
        "find all": "the length of the text, times that of the pattern, and each match",
        "items": "1 for each item",
        "all items": "1 for each item",
        "search items": "1 for each item, and what is compared",
        "distinct": "the square of the number of items",
        "sets": "the product of the numbers of items",
        "flatten": "1 for each item of each list",
        "range": "1 for each number",
        "sort": "the items, times the logarithm of their number",
        "search text": "the product of the lengths of the texts",
        "join": "the length of all texts",
        "replace": "the length of the text and of the result",
        "split": "the length of the text, and each part",
        "format": "the length of the result",
        "selector": "each requirement of the selector",
        "window": f"{WINDOW} for a window",
    }
)
# How the path of a member is written in an example.
_SPELLED: Final = MappingProxyType(
    {
        "node.domain.pods": "node.domain('zone').pods",
        "pod.containers.ports": "pod.containers[0].ports",
        "pod.initContainers.ports": "pod.initContainers[0].ports",
    }
)
_ENVIRONMENT: Final = Environment(roots=tuple(CATALOGUE.roots), warnings=False)
# By the name of a fact of the engine: what tries a pod again that was rejected by it.
Wakes = Mapping[str, Sequence[str]]


def cost_of(example: str) -> int:
    """The most that the expression may take on one node."""
    return compile_expression(example, environment=_ENVIRONMENT).cost


def language_entries(wakes: Wakes) -> Iterator[Entry]:
    yield from _facts(wakes)
    yield from _functions()
    yield from _forms()


def _facts(wakes: Wakes) -> Iterator[Entry]:
    for name, root in CATALOGUE.roots.items():
        text = ROOTS[name]
        yield Entry(
            name,
            FACT,
            text.meaning,
            text.example,
            (f"{name} → {root.type}",),
            group=name,
            known=_KNOWN[root.time],
            wakes=tuple(wakes.get(name, ())),
        )
        kind = CATALOGUE.types.get(root.type)
        # Victims have the facts of pods, which are listed there.
        if kind is not None and name != VICTIM:
            yield from _below((name, name), name, kind, root.time, wakes)


def _below(
    path: tuple[str, str], root: str, kind: ObjectType, before: Time, wakes: Wakes
) -> Iterator[Entry]:
    """The facts below a path, which comes without and with what is in parentheses."""
    for name, member in kind.members.items():
        full, called = f"{path[0]}.{name}", f"{path[1]}.{name}{_called(member)}"
        time = max(member.time, before)
        text = _member_text(path[0], kind, name)
        yield Entry(
            full,
            FACT,
            text.meaning,
            text.example,
            (f"{called} → {member.result}",),
            group=root,
            cost=cost_of(text.example),
            known=_KNOWN[time],
            wakes=_wakes(full, wakes),
        )
        inner = CATALOGUE.types.get(_item(member.result).name)
        if inner is None or inner.name not in MEMBERS or inner.name == "Pod":
            continue
        if inner.record:
            yield from _fields(full, root, inner)
        else:
            yield from _below((full, called), root, inner, time, wakes)


def _fields(path: str, root: str, kind: ObjectType) -> Iterator[Entry]:
    for name, member in kind.members.items():
        text = _member_text(path, kind, name)
        yield Entry(
            f"{path}.{name}",
            FIELD,
            text.meaning,
            text.example,
            (f"{kind.name}.{name} → {member.result}",),
            group=root,
            cost=cost_of(text.example),
        )
        inner = CATALOGUE.types.get(_item(member.result).name)
        if inner is not None and inner.record:
            yield from _fields(f"{path}.{name}", root, inner)


def _member_text(path: str, kind: ObjectType, name: str) -> Text:
    text = MEMBERS[kind.name][name]
    return text._replace(example=text.example.replace("PATH", _SPELLED.get(path, path)))


def _item(kind: Type) -> Type:
    return kind.parameters[0] if kind.name == "list" else kind


def _called(member: Member) -> str:
    if not member.method:
        return ""
    if member.of_root:
        return f"({member.of_root})"
    needed = len(member.params) - member.optional
    shown = [f"{kind}{'?' * (at >= needed)}" for at, kind in enumerate(member.params)]
    return f"({', '.join(shown)})"


def _wakes(name: str, wakes: Wakes) -> tuple[str, ...]:
    """Of the fact, or of all that is below it."""
    own = wakes.get(name)
    below = (
        [own]
        if own is not None
        else [of_fact for fact, of_fact in wakes.items() if fact.startswith(f"{name}.")]
    )
    return tuple(dict.fromkeys(word for of_fact in below for word in of_fact))


def _functions() -> Iterator[Entry]:
    families: dict[str, list[Family]] = {}
    for family in FAMILIES:
        families.setdefault(family.function, []).append(family)
    for name, (symbol, text) in operator_texts.OPERATORS.items():
        yield _function(symbol, (OPERATOR, "Operators"), text, families[name])
    for library, texts in LIBRARIES.items():
        for name, text in texts.items():
            shown = name.replace("@", "")
            if shown not in operator_texts.FORMS:
                yield _function(shown, (FUNCTION, library), text, families[name])


def _function(
    name: str, kind_and_group: tuple[str, str], text: Text, families: Sequence[Family]
) -> Entry:
    kind, group = kind_and_group
    forms = [
        _form(name, kind, overload) for family in families for overload in overloads_of(family)
    ]
    charged = [part for family in families for part in _charges(family)]
    return Entry(
        name,
        kind,
        text.meaning,
        text.example,
        tuple(dict.fromkeys(forms)),
        group=group,
        cost=cost_of(text.example),
        charged="; ".join(dict.fromkeys(charged)),
    )


def _charges(family: Family) -> Iterator[str]:
    if family.parses:
        yield f"{PARSING} and the length of texts that are read"
    if _CHARGED[family.cost]:
        yield _CHARGED[family.cost]


def _form(name: str, kind: str, overload: Overload) -> str:
    params, result = [str(param) for param in overload.params], overload.result
    if kind == OPERATOR:
        if len(params) == 1:
            return f"{name.removesuffix('x')}{params[0]} → {result}"
        return f"{params[0]} {name} {params[1]} → {result}"
    if overload.member:
        return f"{params[0]}.{name}({', '.join(params[1:])}) → {result}"
    return f"{name}({', '.join(params)}) → {result}"


def _forms() -> Iterator[Entry]:
    for texts, kind, group in (
        (operator_texts.FORMS, OPERATOR, "Operators"),
        (operator_texts.LOOPS, MACRO, "Loops"),
    ):
        for name, (form, text) in texts.items():
            is_form = kind == OPERATOR and name[0].isalpha()
            yield Entry(
                name,
                MACRO if is_form else kind,
                text.meaning,
                text.example,
                tuple(_listed(form)),
                group="Forms" if is_form else group,
                cost=cost_of(text.example),
                charged="each item, times what the body takes" if group == "Loops" else "",
            )


def _listed(form: str) -> Iterator[str]:
    """`a(x) → b, c(y) → d` as two; a comma in brackets is part of a form."""
    start = depth = 0
    for at, mark in enumerate(form):
        depth += (mark in "([") - (mark in ")]")
        if mark == "," and depth == 0:
            yield form[start:at].strip()
            start = at + 1
    yield form[start:].strip()
