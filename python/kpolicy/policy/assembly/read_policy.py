"""Policies as read: a validated model beside the tree it was written as.

Owns `Policy`, `WrittenRule`, and the findings that concern one document: built-ins that do not
exist, arguments, duplicate names, expression against built-in. Assumes documents in the form of a
SchedulingPolicy. Must not know other policies nor CEL.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from kpolicy.diagnostics import Diagnostic, Fix, Note, Place, Span
from kpolicy.policy.codes.registry import remark
from kpolicy.policy.document_kinds import Document
from kpolicy.policy.legacy.meanings import PREDICATES as PREDICATES_OF_OLD
from kpolicy.policy.legacy.meanings import PRIORITIES as PRIORITIES_OF_OLD
from kpolicy.policy.models.builtins import BUILTINS, PREEMPTION, Builtin, filled
from kpolicy.policy.models.scheduling_policy import Predicate, Priority, SchedulingPolicy
from kpolicy.policy.models.validation import slip_of, validated
from kpolicy.policy.nearest import did_you_mean, nearest
from kpolicy.policy.yaml.nodes import (
    Entry,
    Mapping,
    Node,
    Path,
    Scalar,
    dotted,
    find,
    key_at,
    mapping,
    mappings,
    rewritten,
)
from kpolicy.policy.yaml.source import SourceText, placed

PREDICATES: Final = ("spec", "predicates")
PRIORITIES: Final = ("spec", "priorities")


@dataclass(frozen=True, slots=True)
class Policy:
    """One document. `tree` is parallel to `model`: a path of one is a path of the other."""

    name: str
    text: SourceText
    tree: Node
    model: SchedulingPolicy
    kind: str
    # By the span of a map, the keys that were left out because they were wrong, and told so.
    left_out: dict[Span, frozenset[str]] = field(default_factory=dict)

    def lost(self, path: Path) -> frozenset[str]:
        """What was written in the map at `path`, and could not be understood."""
        node = find(self.tree, path)
        return self.left_out.get(node.span, frozenset()) if node is not None else frozenset()

    def span(self, path: Path) -> Span:
        node = find(self.tree, path)
        return node.span if node is not None else self.span(path[:-1]) if path else Span(0, 0)

    def place(self, path: Path) -> Place:
        return self.text.place(self.span(path))

    def remark(
        self,
        code: str,
        message: str,
        path: Path,
        hint: str = "",
        notes: tuple[Note, ...] = (),
        *,
        fix: Fix | None = None,
    ) -> Diagnostic:
        """A finding about the value at `path`, placed."""
        said = remark(
            code, message, self.span(path), hint=hint, field=dotted(path), notes=notes, fix=fix
        )
        return placed(self.text, said)


@dataclass(frozen=True, slots=True)
class WrittenRule:
    """A predicate or priority where somebody wrote it."""

    policy: Policy
    path: Path
    name: str
    rule: Predicate | Priority
    # Arguments with defaults filled in, for a built-in.
    args: dict[str, Any]

    @property
    def identity(self) -> tuple[str, Path]:
        return self.policy.name, self.path

    @property
    def builtin(self) -> Builtin | None:
        return BUILTINS.get(self.rule.builtin) if self.rule.builtin else None

    @property
    def place(self) -> Place:
        for key in ("expression", "builtin"):
            if find(self.policy.tree, (*self.path, key)) is not None:
                return self.policy.place((*self.path, key))
        return self.policy.place(self.path)


@dataclass(frozen=True, slots=True)
class ReadPolicies:
    policies: tuple[Policy, ...]
    diagnostics: tuple[Diagnostic, ...]


def read_policies(documents: Iterable[Document]) -> ReadPolicies:
    """The models of documents, in order; one that cannot be understood at all is left out."""
    policies: list[Policy] = []
    diagnostics: list[Diagnostic] = []
    for document in documents:
        model, tree, findings = validated(SchedulingPolicy, document.root)
        diagnostics += [placed(document.text, finding) for finding in findings]
        if model is not None:
            name = model.metadata.name
            left_out = _left_out(document.root, tree) if findings else {}
            policies.append(Policy(name, document.text, tree, model, document.kind, left_out))
    return ReadPolicies(tuple(policies), tuple(diagnostics))


def _left_out(written: Node, left: Node) -> dict[Span, frozenset[str]]:
    """By the span of a map, the keys that it had when it was written."""
    keys = {one.span: _keys(one) for one in mappings(written)}
    found = {one.span: keys.get(one.span, frozenset()) - _keys(one) for one in mappings(left)}
    return {span: lost for span, lost in found.items() if lost}


def _keys(node: Mapping) -> frozenset[str]:
    return frozenset(entry.key.text for entry in node.entries)


@dataclass(frozen=True, slots=True)
class WrittenRules:
    predicates: tuple[WrittenRule, ...]
    priorities: tuple[WrittenRule, ...]
    diagnostics: tuple[Diagnostic, ...]


def written_rules(policy: Policy) -> WrittenRules:
    """The sound rules of one document, and what is wrong with the others."""
    spec = policy.model.spec
    predicates, said_filters = _rules(policy, PREDICATES, spec.predicates)
    priorities, said_scores = _rules(policy, PRIORITIES, spec.priorities)
    implicit, said_implicit = _implicit(policy, predicates)
    diagnostics = (*said_filters, *said_scores, *said_implicit)
    return WrittenRules((*predicates, *implicit), priorities, diagnostics)


def _rules(
    policy: Policy, at: Path, rules: Sequence[Predicate | Priority]
) -> tuple[tuple[WrittenRule, ...], tuple[Diagnostic, ...]]:
    sound: list[WrittenRule] = []
    said: list[Diagnostic] = []
    first: dict[str, Path] = {}
    for index, rule in enumerate(rules):
        path = (*at, index)
        problems = tuple(_form(policy, path, rule))
        said += problems
        name = rule.name or rule.builtin or ""
        if name in first:
            said.append(_twice(policy, at, name, first[name], path))
            continue
        if name:
            first[name] = path
        if problems:
            continue
        args, problems = _args(policy, path, rule)
        said += problems
        sound.append(WrittenRule(policy, path, name, rule, args))
    return tuple(sound), tuple(said)


def _form(policy: Policy, path: Path, rule: Predicate | Priority) -> Iterator[Diagnostic]:
    what = "predicate" if isinstance(rule, Predicate) else "priority"
    if rule.builtin is not None and rule.expression is not None:
        message = f"a {what} has `builtin` or `expression`, not both"
        yield policy.remark("KP107", message, (*path, "expression"), hint="make it two rules")
    elif rule.builtin is None and rule.expression is None:
        if policy.lost(path):
            return  # it may be there and be wrong, which has been said
        message = f"this {what} has neither `builtin` nor `expression`"
        node = find(policy.tree, path)
        span = (
            Span(node.span.start, min(node.span.start + 1, node.span.end)) if node else Span(0, 0)
        )
        if isinstance(node, Mapping) and node.entries:
            span = node.entries[0].key.span
        yield placed(policy.text, remark("KP107", message, span, field=dotted(path)))
    elif rule.expression is not None and rule.name is None:
        key = key_at(policy.tree, (*path, "expression"))
        span = key.span if key else policy.span(path)
        message = f"a {what} with an expression needs a `name`"
        yield placed(policy.text, remark("KP114", message, span, field=dotted(path)))
    elif rule.builtin is not None:
        yield from _unfit_builtin(policy, path, rule)


def _unfit_builtin(policy: Policy, path: Path, rule: Predicate | Priority) -> Iterator[Diagnostic]:
    filters = isinstance(rule, Predicate)
    what = "predicate" if filters else "priority"
    builtin = BUILTINS.get(rule.builtin or "")
    fit = [b.name for b in BUILTINS.values() if (b.filters if filters else b.scores)]
    if builtin is None:
        message = f"there is no built-in {what} `{rule.builtin}`"
        at = (*path, "builtin")
        written = find(policy.tree, at)
        name = rule.builtin or ""
        hint = did_you_mean(name, fit)
        fix = slip_of(written, nearest(name, fit))
        today = _renamed(name, filters=filters)
        if today in fit and isinstance(written, Scalar):
            hint = f"`{name}` is the legacy name of `{today}`"
            edit = rewritten(written, today)
            fix = Fix((edit,)) if edit is not None else None
        if rule.builtin == PREEMPTION:
            hint, fix = "preemption is set by `spec.preemption`", None
        yield policy.remark("KP103", message, at, hint=hint, fix=fix)
    elif builtin.name not in fit:
        does, other = ("scores", "priorities") if filters else ("filters", "predicates")
        message = f"the built-in `{builtin.name}` only {does}"
        yield policy.remark("KP103", message, (*path, "builtin"), hint=f"list it under `{other}`")


def _renamed(name: str, *, filters: bool) -> str:
    """What the legacy Policy calls so, where that is one built-in without arguments."""
    meanings = (PREDICATES_OF_OLD if filters else PRIORITIES_OF_OLD).get(name, ())
    return meanings[0].builtin if len(meanings) == 1 and not meanings[0].args else ""


def _twice(policy: Policy, at: Path, name: str, first: Path, path: Path) -> Diagnostic:
    def named(one: Path) -> Path:
        field = "name" if find(policy.tree, (*one, "name")) is not None else "builtin"
        return (*one, field)

    note = Note("first here", span=policy.span(named(first)))
    message = f"two {at[-1]} are called `{name}`"
    hint = "" if find(policy.tree, (*path, "name")) is not None else "give one of them a `name`"
    return policy.remark("KP104", message, named(path), hint=hint, notes=(note,))


def _args(
    policy: Policy, path: Path, rule: Predicate | Priority
) -> tuple[dict[str, Any], tuple[Diagnostic, ...]]:
    builtin = BUILTINS.get(rule.builtin or "")
    written = find(policy.tree, (*path, "args"))
    if builtin is None:
        if written is None:
            return {}, ()
        message = "`args` are for built-ins"
        return {}, (policy.remark("KP107", message, (*path, "args")),)
    node = _long_form(written) if isinstance(written, Mapping) else mapping(policy.span(path))
    node = _with_shared(policy, builtin, node)
    model, _, findings = validated(builtin.args, node, (*path, "args"))
    said = tuple(placed(policy.text, finding) for finding in findings)
    return (filled(model) if model is not None else {}), said


def _long_form(node: Mapping) -> Mapping:
    """`strategy`, `resources` and `shape` of NodeResourcesFit, as kube-scheduler spells them."""
    strategy = node.entry("strategy")
    if strategy is None or node.get("scoringStrategy") is not None:
        return node
    parts = [Entry(Scalar(strategy.key.span, "type", "type"), strategy.value)]
    kept: list[Entry] = []
    for entry in node.entries:
        match entry.key.text:
            case "strategy":
                pass
            case "resources":
                parts.append(entry)
            case "shape":
                ratio = Mapping(entry.value.span, (entry,))
                key = Scalar(entry.key.span, *(("requestedToCapacityRatio",) * 2))
                parts.append(Entry(key, ratio))
            case _:
                kept.append(entry)
    key = Scalar(strategy.key.span, "scoringStrategy", "scoringStrategy")
    return Mapping(node.span, (*kept, Entry(key, Mapping(strategy.value.span, tuple(parts)))))


def _with_shared(policy: Policy, builtin: Builtin, node: Mapping) -> Mapping:
    """`spec.interPodAffinity` are arguments of every InterPodAffinity of the document."""
    shared = find(policy.tree, ("spec", "interPodAffinity"))
    if builtin.name != "InterPodAffinity" or not isinstance(shared, Mapping):
        return node
    own = {entry.key.text for entry in node.entries}
    added = tuple(entry for entry in shared.entries if entry.key.text not in own)
    return Mapping(node.span, (*node.entries, *added))


def _implicit(
    policy: Policy, predicates: tuple[WrittenRule, ...]
) -> tuple[tuple[WrittenRule, ...], tuple[Diagnostic, ...]]:
    """Built-ins that a legacy release asked whatever its policy said."""
    sound: list[WrittenRule] = []
    said: list[Diagnostic] = []
    present = {one.rule.builtin for one in predicates}
    for index, name in enumerate(policy.model.spec.implicit):
        path = ("spec", "implicit", index)
        builtin = BUILTINS.get(name)
        if builtin is None or not builtin.filters:
            hint = did_you_mean(name, [b.name for b in BUILTINS.values() if b.filters])
            message = f"there is no built-in predicate `{name}`"
            said.append(policy.remark("KP103", message, path, hint=hint))
        elif name not in present:
            node = _with_shared(policy, builtin, mapping(policy.span(path)))
            model, _, _ = validated(builtin.args, node)
            args = filled(model) if model is not None else {}
            rule = Predicate.model_validate({"builtin": name})
            sound.append(WrittenRule(policy, path, name, rule, args))
    return tuple(sound), tuple(said)
