"""Which parts of expressions are the same.

Owns numbering trees by structure: equal numbers mean equal values, for one pod and one node.
Assumes checked trees, which are pure. Must not know what a part means.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from kpolicy.policy.cel.tree import Tree

PARAMETER: Final = "params."


def is_literal(tree: Tree) -> bool:
    """A constant that is written there; a parameter's value may change without the text."""
    return tree.op == "constant" and not tree.name.startswith(PARAMETER)


@dataclass(slots=True)
class Terms:
    """Numbers for the trees of one run. `within` is the policy variable whose text they are of."""

    _numbers: dict[tuple[object, ...], int] = field(default_factory=dict)
    # The trees are kept, so that their ids stay theirs.
    _known: dict[tuple[int, str], tuple[Tree, int]] = field(default_factory=dict)

    def number(self, tree: Tree, within: str = "") -> int:
        known = self._known.get((id(tree), within))
        if known is not None:
            return known[1]
        number = self._numbered(self._form(tree, within))
        self._known[id(tree), within] = (tree, number)
        return number

    def presence(self, tree: Tree, within: str = "") -> int | None:
        """The number of what `tree` looks up, or asks the presence of; None if it does neither."""
        if tree.op in ("fact", "present") and (tree.name.endswith("[]") or _may_lack(tree.name)):
            name = tree.name.rsplit(".", 1)[0] if _may_lack(tree.name) else tree.name
            return self._numbered(("entry", name, *self._args(tree, within)))
        if tree.op in ("member", "present_member") and tree.name.endswith("[]"):
            return self._numbered(("entry", tree.name, *self._args(tree, within)))
        if tree.op == "present" and tree.name.endswith(".controller"):
            return self._numbered(("entry", tree.name))
        if tree.op in ("field", "has") and tree.args[0].type.name == "map":
            key = self._text(tree.name)
            return self._numbered(("in", self.number(tree.args[0], within), key))
        if tree.op == "call" and tree.name == "index_map":
            holder, index = self._args(tree, within)
            return self._numbered(("in", holder, index))
        if tree.op == "call" and tree.name == "in_map":
            index, holder = self._args(tree, within)
            return self._numbered(("in", holder, index))
        return None

    def _args(self, tree: Tree, within: str) -> list[int]:
        return [self.number(arg, within) for arg in tree.args]

    def _text(self, value: str) -> int:
        return self._numbered(("constant", "string", "", repr(value)))

    def _form(self, tree: Tree, within: str) -> tuple[object, ...]:
        if tree.op == "variable":
            return ("same", self.number(tree.args[0], f"variables.{tree.name}"))
        if tree.op == "constant":
            return ("constant", tree.type.name, tree.name, repr(tree.value))
        slots = (within, *tree.slots) if tree.slots else ()
        return (tree.op, tree.name, slots, tree.optional, *self._args(tree, within))

    def _numbered(self, form: tuple[object, ...]) -> int:
        if form[0] == "same" and isinstance(form[1], int):
            return form[1]
        return self._numbers.setdefault(form, len(self._numbers))


def _may_lack(name: str) -> bool:
    """Members of an object that need not be there."""
    return name.endswith((".controller.kind", ".controller.name"))


def is_lookup(tree: Tree) -> bool:
    """Whether reading this is an error where the key, or the object, is absent."""
    if tree.op == "fact":
        return tree.name.endswith("[]") or _may_lack(tree.name)
    if tree.op == "member":
        return tree.name.endswith("[]")
    if tree.op == "field":
        return tree.args[0].type.name == "map"
    return tree.op == "call" and tree.name == "index_map"
