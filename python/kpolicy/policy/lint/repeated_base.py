"""KP126: a policy that names no base writes rules of the default profile again.

Such a document may have been written when its own rules were all that it had. The fix says so.
"""

from __future__ import annotations

from collections.abc import Iterator

from kpolicy.diagnostics import Diagnostic, Edit, Fix, Span
from kpolicy.policy.assembly.read_policy import Policy, WrittenRule
from kpolicy.policy.assembly.resolve import Effective
from kpolicy.policy.models.scheduling_policy import BASE_DEFAULT, KIND, NO_BASE, Predicate, Priority
from kpolicy.policy.yaml.nodes import Mapping, Path, find
from kpolicy.policy.yaml.source import SourceText


def repeated_base(merged: Effective) -> Iterator[Diagnostic]:
    policy = merged.policy
    if policy.kind != KIND or policy.names_its_base:
        return
    of_base = [rule.written for rule in (*merged.predicates_of_bases, *merged.priorities_of_bases)]
    applied = (*merged.predicates, *merged.priorities)
    own = sorted(
        (rule.written for rule in applied if rule.written.policy is policy), key=_in_document
    )
    again = [rule for rule in own if any(_is_equal(rule, base) for base in of_base)]
    if not again:
        return
    names = ", ".join(f"`{name}`" for name in dict.fromkeys(rule.name for rule in again))
    yield policy.remark(
        "KP126",
        f"the policy stands on `{BASE_DEFAULT}`, which has this already: {names}",
        _place(policy, again[0].path),
        hint=f"leave it out, or write `base: {NO_BASE}` if the rules of this document are all "
        "that it should have",
        fix=_without_base(policy),
    )


def _in_document(rule: WrittenRule) -> tuple[str, int]:
    side, index = rule.path[1], rule.path[-1]
    return str(side), int(index)


def _is_equal(rule: WrittenRule, base: WrittenRule) -> bool:
    """Whether the rule is the base's, on the same side, with the same arguments and weight.

    One with arguments of its own, or with a mistake in it, is not."""
    if (rule.name, rule.path[1], rule.rule.builtin) != (base.name, base.path[1], base.rule.builtin):
        return False
    if rule.rule.args or rule.policy.lost(rule.path):
        return False
    if isinstance(rule.rule, Predicate) and rule.rule.helped_by == "other":
        return False
    if rule.rule.match_conditions or rule.policy.model.spec.match_conditions:
        return False
    is_weighed_equally = (
        not isinstance(rule.rule, Priority)
        or not isinstance(base.rule, Priority)
        or rule.rule.weight == base.rule.weight
    )
    return rule.rule.enabled and rule.args == base.args and is_weighed_equally


def _place(policy: Policy, path: Path) -> Path:
    return (*path, "builtin") if find(policy.tree, (*path, "builtin")) is not None else path


def _file(text: SourceText) -> SourceText:
    """The text that quotes this one: a block in a ConfigMap has other line ends than its file."""
    return text if text.within is None else _file(text.within[0])


def _without_base(policy: Policy) -> Fix | None:
    """Writes `base: none` before the first key of `spec`, in the form of the map."""
    spec = find(policy.tree, ("spec",))
    if not isinstance(spec, Mapping) or not spec.entries:
        return None
    key = spec.entries[0].key
    written = f"{key.style}base{key.style}: {key.style}{NO_BASE}{key.style}"
    is_flow = policy.text.text.startswith("{", spec.span.start)
    # The column in the file: a policy in a ConfigMap is indented further there.
    indent = " " * (policy.text.place(key.span).column - 1)
    line_end = "\r\n" if "\r\n" in _file(policy.text).text else "\n"
    between = ", " if is_flow else f"{line_end}{indent}"
    start = key.span.start
    return Fix((Edit(Span(start, start), f"{written}{between}"),), keeps_program=False)
