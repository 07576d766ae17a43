"""Reads a rule as node affinity, where it reads nothing but labels of nodes and fields of the pod.

CEL has three results: true, false and an error. Each part is therefore read twice: what makes it
true, and what makes it false. Elsewhere it errs, and `&&` and `||` absorb that as CEL does.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from kpolicy.policy.cel.tree import (
    And,
    Call,
    Conditional,
    Constant,
    Fact,
    NewList,
    Or,
    Present,
    Tree,
    Variable,
    read_of,
)
from kpolicy.policy.format.affinity_terms import (
    ALWAYS,
    NEVER,
    All,
    Any,
    Formula,
    Need,
    NotSayableError,
    Test,
    opposite,
    quoted,
)

_NODE_LABEL: Final = frozenset({"node.labels[]", "node.metadata.labels[]"})
# Entries of maps of the pod, and the path of the map; its values are those of labels if so marked.
_POD_MAPS: Final = {
    "pod.labels[]": ("metadata.labels", True),
    "pod.metadata.labels[]": ("metadata.labels", True),
    "pod.annotations[]": ("metadata.annotations", False),
    "pod.metadata.annotations[]": ("metadata.annotations", False),
    "pod.nodeSelector[]": ("spec.nodeSelector", True),
}
# Fields of the pod, and what they are where they are absent.
_POD_FIELDS: Final = {
    "pod.priority": ("spec.priority", "0"),
    "pod.priorityClassName": ("spec.priorityClassName", "''"),
    "pod.schedulerName": ("spec.schedulerName", "'default-scheduler'"),
    "pod.hostNetwork": ("spec.hostNetwork", "false"),
}
_OPERATORS: Final = {
    "equals_any": "==",
    "not_equals_any": "!=",
    "less_int64": "<",
    "less_equals_int64": "<=",
    "greater_int64": ">",
    "greater_equals_int64": ">=",
    "in_list": "in",
}
_MIRRORED: Final = {
    "less_int64": "greater_int64",
    "less_equals_int64": "greater_equals_int64",
    "greater_int64": "less_int64",
    "greater_equals_int64": "less_equals_int64",
}
_METHODS: Final = {
    "starts_with_string": "startsWith",
    "ends_with_string": "endsWith",
    "contains_string": "contains",
    "matches_string": "matches",
}


@dataclass(frozen=True, slots=True)
class Verdict:
    """What makes an expression true, and what makes it false."""

    yes: Formula
    no: Formula


@dataclass(frozen=True, slots=True)
class _Label:
    """A label of the node; `or_empty`: an absent one reads as empty, and does not err."""

    key: str
    or_empty: bool


@dataclass(frozen=True, slots=True)
class _PodValue:
    """A value of the pod as CEL. It is there where the guard holds; `is_label_value`: a node may
    have it as the value of a label."""

    text: str
    guard: str = ""
    is_label_value: bool = False


def accepted(expression: Tree, *, accepts_errors: bool, root: str) -> Formula:
    """Where the rule accepts a node. `root`: where the pod is in what is admitted. Raises
    `NotSayableError`."""
    verdict = verdict_of(expression, root)
    return opposite(verdict.no) if accepts_errors else verdict.yes


def verdict_of(tree: Tree, root: str) -> Verdict:
    match tree:
        case Variable():
            return verdict_of(tree.value, root)
        case Constant(value=bool(value)):
            return Verdict(ALWAYS, NEVER) if value else Verdict(NEVER, ALWAYS)
        case And() | Or():
            sides = [verdict_of(part, root) for part in tree.args]
            yes, no = tuple(side.yes for side in sides), tuple(side.no for side in sides)
            return (
                Verdict(All(yes), Any(no)) if isinstance(tree, And) else Verdict(Any(yes), All(no))
            )
        case Call("not_bool", (operand,)):
            verdict = verdict_of(operand, root)
            return Verdict(verdict.no, verdict.yes)
        case Conditional() if _label(tree) is None and _pod_value(tree, root) is None:
            test, then, other = (verdict_of(part, root) for part in tree.operands)
            return Verdict(
                Any((All((test.yes, then.yes)), All((test.no, other.yes)))),
                Any((All((test.yes, then.no)), All((test.no, other.no)))),
            )
        case Present(read=read) if isinstance(read, Fact):
            return _presence(read, root)
        case Call(name=name, args=args) if name in _OPERATORS or name in _METHODS:
            return _comparison(name, args, root)
        case Fact(name="pod.hostNetwork"):
            text = _value(tree, root).text
            return Verdict(Test(text), Test(f"!({text})"))
    raise NotSayableError(_why(tree))


def _presence(read: Fact, root: str) -> Verdict:
    if read.name in _NODE_LABEL:
        key = _key(read)
        return Verdict(Need(key, "Exists"), Need(key, "DoesNotExist"))
    if read.name in _POD_MAPS:
        guard = _entry(read, root).guard
        return Verdict(Test(guard), Test(f"!({guard})"))
    raise NotSayableError(_why(read))


def _comparison(name: str, args: Sequence[Tree], root: str) -> Verdict:
    if len(args) == 2:
        left, right = args
        if (label := _label(left)) is not None:
            return _of_label(name, label, right, root)
        if (label := _label(right)) is not None and name in ("equals_any", "not_equals_any"):
            return _of_label(name, label, left, root)
        if (number := _number(left)) is not None and name in _MIRRORED:
            return _of_number(name, number, right)
        if (number := _number(right)) is not None and name in _MIRRORED:
            return _of_number(_MIRRORED[name], number, left)
    values = [_value(arg, root) for arg in args]
    if name in _METHODS:
        text = f"{values[0].text}.{_METHODS[name]}({', '.join(v.text for v in values[1:])})"
    else:
        text = f"{values[0].text} {_OPERATORS[name]} {values[1].text}"
    guards = tuple(Test(value.guard) for value in values if value.guard)
    return Verdict(All((*guards, Test(text))), All((*guards, Test(f"!({text})"))))


def _of_label(name: str, label: _Label, other: Tree, root: str) -> Verdict:
    if name == "in_list":
        items = _items(other)
        texts = tuple(
            quoted(item.value)
            for item in items
            if isinstance(item, Constant) and isinstance(item.value, str) and item.value
        )
        if texts and len(texts) == len(items):
            differs = Need(label.key, "NotIn", texts)
            return Verdict(Need(label.key, "In", texts), All((_is_there(label), differs)))
        sides = [_is_equal(label, item, root) for item in items]
        return Verdict(
            Any(tuple(side.yes for side in sides)),
            All((_is_there(label), *(side.no for side in sides))),
        )
    if name not in ("equals_any", "not_equals_any"):
        raise NotSayableError("node affinity compares a label with whole values only")
    verdict = _is_equal(label, other, root)
    return verdict if name == "equals_any" else Verdict(verdict.no, verdict.yes)


def _is_there(label: _Label) -> Formula:
    """Where reading the label does not err."""
    return ALWAYS if label.or_empty else Need(label.key, "Exists")


def _is_equal(label: _Label, other: Tree, root: str) -> Verdict:
    if isinstance(other, Constant) and not isinstance(other.value, str):
        return Verdict(NEVER, _is_there(label))
    value = _value(other, root)
    if isinstance(other, Constant):
        return _equality(label, value.text, is_empty=other.value == "")
    if not value.is_label_value:
        raise NotSayableError("a label of the node is compared with what may be no value of labels")
    guard = Test(value.guard) if value.guard else ALWAYS
    full, empty = Test(f"{value.text} != ''"), Test(f"{value.text} == ''")
    if_full = _equality(label, value.text, is_empty=False)
    if_empty = _equality(label, value.text, is_empty=True)
    return Verdict(
        All((guard, Any((All((full, if_full.yes)), All((empty, if_empty.yes)))))),
        All((guard, Any((All((full, if_full.no)), All((empty, if_empty.no)))))),
    )


def _equality(label: _Label, value: str, *, is_empty: bool) -> Verdict:
    """`NotIn` accepts nodes without the label, as kube-scheduler has it."""
    same, differs = Need(label.key, "In", (value,)), Need(label.key, "NotIn", (value,))
    there = Need(label.key, "Exists")
    if label.or_empty and is_empty:
        return Verdict(Any((Need(label.key, "DoesNotExist"), same)), All((there, differs)))
    return Verdict(same, differs if label.or_empty else All((there, differs)))


def _of_number(name: str, label: _Label, other: Tree) -> Verdict:
    """A label that is no number errs in an expression, and matches neither `Gt` nor `Lt`."""
    if not isinstance(other, Constant) or not isinstance(other.value, int):
        raise NotSayableError("node affinity compares a number in a label with a constant only")
    bound = other.value
    above = Need(label.key, "Gt", (quoted(str(bound - (name == "greater_equals_int64"))),))
    below = Need(label.key, "Lt", (quoted(str(bound + (name == "less_equals_int64"))),))
    match name:
        case "greater_int64":
            return Verdict(above, Need(label.key, "Lt", (quoted(str(bound + 1)),)))
        case "greater_equals_int64":
            return Verdict(above, Need(label.key, "Lt", (quoted(str(bound)),)))
        case "less_int64":
            return Verdict(below, Need(label.key, "Gt", (quoted(str(bound - 1)),)))
        case _:
            return Verdict(below, Need(label.key, "Gt", (quoted(str(bound)),)))


def _label(tree: Tree) -> _Label | None:
    """A label of the node, read directly or by `label(node, …)`."""
    match tree:
        case Variable():
            return _label(tree.value)
        case Fact(name=name) if name in _NODE_LABEL:
            return _Label(_key(tree), or_empty=False)
        case Conditional(test=Present(read=Fact(name=name)), yes=Fact() as read, no=other) if (
            name in _NODE_LABEL and read == _tested(tree) and _is_empty(other)
        ):
            return _Label(_key(read), or_empty=True)
    return None


def _tested(tree: Conditional) -> Tree | None:
    """What the test of `has(x) ? x : y` asks for."""
    return read_of(tree.test)


def _number(tree: Tree) -> _Label | None:
    match tree:
        case Variable():
            return _number(tree.value)
        case Call("to_int_string", (operand,)):
            return _label(operand)
    return None


def _pod_value(tree: Tree, root: str) -> _PodValue | None:
    match tree:
        case Variable():
            return _pod_value(tree.value, root)
        case Constant(value=value) if isinstance(value, bool | int | str):
            return _PodValue(_literal(value), is_label_value=False)
        case Constant(value=list(items)) | Constant(value=tuple(items)):
            return _PodValue(f"[{', '.join(map(_literal, items))}]")
        case NewList(args=args, optional=()):
            constants = [arg.value for arg in args if isinstance(arg, Constant)]
            is_constant = len(constants) == len(args)
            return _PodValue(f"[{', '.join(map(_literal, constants))}]") if is_constant else None
        case Fact(name="pod.namespace"):
            return _PodValue("request.namespace", is_label_value=True)
        case Fact(name=name) if name in _POD_FIELDS:
            path, default = _POD_FIELDS[name]
            return _PodValue(f"(has({root}.{path}) ? {root}.{path} : {default})")
        case Fact(name=name) if name in _POD_MAPS:
            return _entry(tree, root)
        case Conditional(
            test=Present(read=Fact(name=name)), yes=Fact() as read, no=Constant(value=str(other))
        ) if name in _POD_MAPS and read == _tested(tree):
            entry = _entry(read, root)
            is_label_value = entry.is_label_value and other == ""
            text = f"({entry.guard} ? {entry.text} : {quoted(other)})"
            return _PodValue(text, is_label_value=is_label_value)
    return None


def _value(tree: Tree, root: str) -> _PodValue:
    found = _pod_value(tree, root)
    if found is None:
        raise NotSayableError(_why(tree))
    return found


def _entry(read: Fact, root: str) -> _PodValue:
    path, is_label_value = _POD_MAPS[read.name]
    key = quoted(_key(read))
    at = f"{root}.{path}"
    return _PodValue(f"{at}[{key}]", f"has({at}) && {key} in {at}", is_label_value)


def _items(tree: Tree) -> Sequence[Tree]:
    match tree:
        case Variable():
            return _items(tree.value)
        case NewList(args=args, optional=()):
            return args
        case Constant(value=list(items) | tuple(items)) if all(isinstance(i, str) for i in items):
            return [Constant(type=tree.type, span=tree.span, value=item) for item in items]
    raise NotSayableError("a label of the node is looked for in what is no list of constants")


def _key(read: Fact) -> str:
    key = read.args[-1]
    if not isinstance(key, Constant) or not isinstance(key.value, str):
        raise NotSayableError("the key of a label is no constant")
    return key.value


def _is_empty(tree: Tree) -> bool:
    return isinstance(tree, Constant) and tree.value == ""


def _literal(value: object) -> str:
    match value:
        case bool():
            return str(value).lower()
        case int():
            return str(value)
        case str():
            return quoted(value)
    raise NotSayableError("it compares with a value that is no text, number or truth")


def _why(tree: Tree) -> str:
    """The first thing that keeps a part from being node affinity."""
    pending: list[Tree] = [tree]
    while pending:
        part = pending.pop()
        read = read_of(part)
        known = _NODE_LABEL | _POD_MAPS.keys() | _POD_FIELDS.keys() | {"pod.namespace"}
        if read is not None and read.name not in known:
            return f"it reads `{read.name.removesuffix('[]')}`"
        pending.extend(reversed(part.operands))
    if isinstance(tree, Call):
        return f"it computes with `{tree.name.partition('_')[0]}`"
    return "it has a part that node affinity cannot say"
