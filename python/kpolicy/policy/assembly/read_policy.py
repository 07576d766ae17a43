"""Policies as they are read: a validated model beside the tree of the text.

Finds what is wrong within one document: built-ins that do not exist, arguments, duplicate names, a
rule with both `builtin` and `expression`. Expressions are compiled elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import field
from typing import Any, Final

from kpolicy.diagnostics import (
    Diagnostic,
    Fix,
    Hint,
    Note,
    Place,
    Severity,
    Span,
    did_you_mean,
    suggestion,
)
from kpolicy.policy.codes.registry import remark
from kpolicy.policy.document_kinds import Document
from kpolicy.policy.legacy.meanings import (
    PREDICATES as LEGACY_PREDICATES,
    PRIORITIES as LEGACY_PRIORITIES,
)
from kpolicy.policy.models.builtins import BUILTINS, PREEMPTION, Builtin, filled
from kpolicy.policy.models.foreign_plugins import foreign_plugin
from kpolicy.policy.models.former_names import with_names_of_today
from kpolicy.policy.models.scheduling_policy import (
    NO_BASE,
    Hold,
    Predicate,
    Priority,
    Rule,
    SchedulingPolicy,
    Spec,
)
from kpolicy.policy.models.validation import fix_of, slip_of, validated
from kpolicy.policy.yaml.nodes import (
    Entry,
    Mapping,
    Node,
    Path,
    Scalar,
    dotted,
    find,
    first_character,
    key_at,
    mapping,
    mappings,
)
from kpolicy.policy.yaml.source import SourceText, placed
from kpolicy.quick_dataclass import dataclass

PREDICATES: Final = ("spec", "predicates")
PRIORITIES: Final = ("spec", "priorities")
DEVICE_SCORES: Final = ("spec", "devices", "score")


@dataclass(frozen=True, slots=True)
class Policy:
    """One document. `tree` is parallel to `model`: a path of one is a path of the other."""

    name: str
    text: SourceText
    tree: Node
    model: SchedulingPolicy
    kind: str
    # By the span of a map: the keys that were left out because they were wrong.
    left_out: dict[Span, frozenset[str]] = field(default_factory=dict)
    # A tenant's: its rules are added to the operator's policy, so it stands on no other.
    is_addition: bool = False

    @property
    def base(self) -> str | None:
        """The name of the policy that this one stands on."""
        name = self.model.spec.base
        return None if name == NO_BASE or self.is_addition else name

    @property
    def names_its_base(self) -> bool:
        """Whether `base` is written, also as `base: none`."""
        return find(self.tree, ("spec", "base")) is not None

    def rules(self) -> Iterator[tuple[Path, Predicate | Priority]]:
        """Predicates and priorities as they are written, each with its path."""
        spec = self.model.spec
        for index, predicate in enumerate(spec.predicates):
            yield (*PREDICATES, index), predicate
        for index, priority in enumerate(spec.priorities):
            yield (*PRIORITIES, index), priority
        for index, score in enumerate(spec.devices.score):
            yield (*DEVICE_SCORES, index), score.priority

    def lost(self, path: Path) -> frozenset[str]:
        """The keys that the map at `path` had and that were left out because they were wrong."""
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
        span: Span | None = None,
        severity: Severity | None = None,
    ) -> Diagnostic:
        """A finding about the value at `path`, shown there or at `span`."""
        return placed(
            self.text,
            remark(
                code,
                message,
                span or self.span(path),
                hint=hint,
                field=dotted(path),
                notes=notes,
                severity=severity,
                fix=fix,
            ),
        )


def condition_paths(at: Path, holder: Spec | Rule | Hold) -> list[Path]:
    """The paths of the expressions of `matchConditions` at `at`."""
    count = len(holder.match_conditions)
    return [(*at, "matchConditions", index, "expression") for index in range(count)]


@dataclass(frozen=True, slots=True)
class WrittenRule:
    """A predicate or priority of a document."""

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
    def scores_devices(self) -> bool:
        """Whether it scores the allocations of a node, and not the node."""
        return self.path[:-1] == DEVICE_SCORES

    @property
    def only_removes(self) -> bool:
        return only_removes(self.rule)

    @property
    def place(self) -> Place:
        paths = ((*self.path, key) for key in ("expression", "builtin"))
        found = (path for path in paths if find(self.policy.tree, path) is not None)
        return self.policy.place(next(found, self.path))


def only_removes(rule: Rule) -> bool:
    """Whether it says no more than that the base's rule of this name is not there."""
    is_nothing = rule.builtin is None and rule.expression is None
    return is_nothing and not rule.enabled and rule.name is not None


@dataclass(frozen=True, slots=True)
class ReadPolicies:
    policies: tuple[Policy, ...]
    diagnostics: tuple[Diagnostic, ...]


def read_policies(documents: Iterable[Document]) -> ReadPolicies:
    """The models of documents, in order; a document without any valid model is left out."""
    policies: list[Policy] = []
    diagnostics: list[Diagnostic] = []
    for document in documents:
        root, renamed = with_names_of_today(document.root)
        model, tree, findings = validated(SchedulingPolicy, root)
        findings = (*renamed, *findings)
        diagnostics += [placed(document.text, finding) for finding in findings]
        if model is not None:
            name = model.metadata.name
            left_out = _left_out(root, tree) if findings else {}
            policies.append(Policy(name, document.text, tree, model, document.kind, left_out))
    return ReadPolicies(tuple(policies), tuple(diagnostics))


def _left_out(written: Node, kept: Node) -> dict[Span, frozenset[str]]:
    """By the span of a map: the keys of `written` that `kept` no longer has."""
    keys = {node.span: _keys(node) for node in mappings(written)}
    lost = {node.span: keys.get(node.span, frozenset()) - _keys(node) for node in mappings(kept)}
    return {span: names for span, names in lost.items() if names}


def _keys(node: Mapping) -> frozenset[str]:
    return frozenset(entry.key.text for entry in node.entries)


@dataclass(frozen=True, slots=True)
class WrittenRules:
    predicates: tuple[WrittenRule, ...]
    priorities: tuple[WrittenRule, ...]
    diagnostics: tuple[Diagnostic, ...]


def written_rules(policy: Policy) -> WrittenRules:
    """The valid rules of one document, and the findings about the others."""
    findings: list[Diagnostic] = []
    predicates = _rules(policy, PREDICATES, policy.model.spec.predicates, findings)
    priorities = _rules(policy, PRIORITIES, policy.model.spec.priorities, findings)
    scores = [score.priority for score in policy.model.spec.devices.score]
    names = {written.name: written.path for written in priorities}
    priorities += _rules(policy, DEVICE_SCORES, scores, findings, names)
    predicates += _implicit(policy, predicates, findings)
    return WrittenRules(tuple(predicates), tuple(priorities), tuple(findings))


def _rules(
    policy: Policy,
    at: Path,
    rules: Sequence[Predicate | Priority],
    findings: list[Diagnostic],
    before: dict[str, Path] | None = None,
) -> list[WrittenRule]:
    """`before`: the names that are taken."""
    valid: list[WrittenRule] = []
    first: dict[str, Path] = before or {}
    for index, rule in enumerate(rules):
        path = (*at, index)
        problems = tuple(_form_problems(policy, path, rule))
        findings += problems
        name = rule.name or rule.builtin or ""
        known = first.setdefault(name, path) if name else path
        if known != path:
            findings.append(_duplicate(policy, name, known, path))
        elif not problems:
            valid.append(WrittenRule(policy, path, name, rule, _args(policy, path, rule, findings)))
    return valid


def _form_problems(policy: Policy, path: Path, rule: Predicate | Priority) -> Iterator[Diagnostic]:
    kind = _kind(rule)
    if rule.builtin is not None and rule.expression is not None:
        yield policy.remark(
            "KP107",
            f"a {kind} has `builtin` or `expression`, not both",
            (*path, "expression"),
            hint="make it two rules",
        )
    elif rule.builtin is None and rule.expression is None:
        # A key that was left out may be the missing one, and has a finding of its own.
        if policy.lost(path) or only_removes(rule):
            return
        node = find(policy.tree, path)
        entries = node.entries if isinstance(node, Mapping) else ()
        span = entries[0].key.span if entries else first_character(policy.span(path))
        message = f"this {kind} has neither `builtin` nor `expression`"
        yield policy.remark("KP107", message, path, span=span)
    elif rule.expression is not None and rule.name is None:
        key = key_at(policy.tree, (*path, "expression"))
        message = f"a {kind} with an expression needs a `name`"
        yield policy.remark("KP114", message, path, span=key.span if key else None)
    elif rule.builtin is not None:
        yield from _unfit_builtin(policy, path, rule.builtin, kind)


def _kind(rule: Predicate | Priority) -> str:
    return "predicate" if isinstance(rule, Predicate) else "priority"


def _unfit_builtin(policy: Policy, path: Path, name: str, kind: str) -> Iterator[Diagnostic]:
    is_filter = kind == "predicate"
    fit = [b.name for b in BUILTINS.values() if (b.filters if is_filter else b.scores)]
    at = (*path, "builtin")
    if name not in BUILTINS:
        written = find(policy.tree, at)
        hint = suggestion(name, fit)
        fix = slip_of(written, hint)
        today = _successor(name, is_filter=is_filter)
        message = f"there is no built-in {kind} `{name}`"
        if (foreign := foreign_plugin(name)) is not None:
            message, hint, fix = foreign.message, Hint(foreign.hint), None
        elif name == PREEMPTION:
            hint, fix = Hint("preemption is set by `spec.preemption`"), None
        elif today in fit and isinstance(written, Scalar):
            hint = Hint(f"`{name}` is the legacy name of `{today}`", replacement=today)
            fix = fix_of(written, hint)
        yield policy.remark(
            "KP103",
            message,
            at,
            hint=hint.text if hint else "",
            fix=fix,
        )
    elif name not in fit:
        does, other = ("scores", "priorities") if is_filter else ("filters", "predicates")
        yield policy.remark(
            "KP103", f"the built-in `{name}` only {does}", at, hint=f"list it under `{other}`"
        )


def _successor(name: str, *, is_filter: bool) -> str:
    """The built-in that a legacy name stands for, if it is a single one without arguments."""
    meanings = (LEGACY_PREDICATES if is_filter else LEGACY_PRIORITIES).get(name, ())
    return meanings[0].builtin if len(meanings) == 1 and not meanings[0].args else ""


def _duplicate(policy: Policy, name: str, first: Path, path: Path) -> Diagnostic:
    names = [find(policy.tree, (*rule, "name")) is not None for rule in (first, path)]
    before, at = (
        (*rule, "name" if has_name else "builtin")
        for rule, has_name in zip((first, path), names, strict=True)
    )
    hint = "" if names[1] else "give one of them a `name`"
    notes = (Note("first here", span=policy.span(before)),)
    kind = "predicates" if path[1] == "predicates" else "priorities"
    return policy.remark("KP104", f"two {kind} are called `{name}`", at, hint, notes)


def _args(
    policy: Policy, path: Path, rule: Predicate | Priority, findings: list[Diagnostic]
) -> dict[str, Any]:
    builtin = BUILTINS.get(rule.builtin or "")
    at = (*path, "args")
    written = find(policy.tree, at)
    if builtin is None:
        if written is not None:
            findings.append(policy.remark("KP107", "`args` are for built-ins", at))
        return {}
    node = _long_form(written) if isinstance(written, Mapping) else mapping(policy.span(path))
    model, _, problems = validated(builtin.args, _with_shared(policy, builtin, node), at)
    findings += [placed(policy.text, problem) for problem in problems]
    return filled(model) if model is not None else {}


def _long_form(node: Mapping) -> Mapping:
    """`strategy`, `resources` and `shape` of NodeResourcesFit, as kube-scheduler spells them."""
    strategy = node.entry("strategy")
    if strategy is None or node.get("scoringStrategy") is not None:
        return node
    parts = [_keyed("type", strategy, strategy.value)]
    for entry in node.entries:
        if entry.key.text == "resources":
            parts.append(entry)
        elif entry.key.text == "shape":
            ratio = Mapping(entry.value.span, (entry,))
            parts.append(_keyed("requestedToCapacityRatio", entry, ratio))
    short = ("strategy", "resources", "shape")
    kept = (entry for entry in node.entries if entry.key.text not in short)
    whole = Mapping(strategy.value.span, tuple(parts))
    return Mapping(node.span, (*kept, _keyed("scoringStrategy", strategy, whole)))


def _keyed(key: str, at: Entry, value: Node) -> Entry:
    return Entry(Scalar(at.key.span, key, key), value)


def _with_shared(policy: Policy, builtin: Builtin, node: Mapping) -> Mapping:
    """`spec.interPodAffinity` are arguments of every InterPodAffinity of the document."""
    shared = find(policy.tree, ("spec", "interPodAffinity"))
    if builtin.name != "InterPodAffinity" or not isinstance(shared, Mapping):
        return node
    own = {entry.key.text for entry in node.entries}
    added = tuple(entry for entry in shared.entries if entry.key.text not in own)
    return Mapping(node.span, (*node.entries, *added))


def _implicit(
    policy: Policy, predicates: Sequence[WrittenRule], findings: list[Diagnostic]
) -> list[WrittenRule]:
    """Built-ins that a legacy release always used, whether its policy listed them or not."""
    valid: list[WrittenRule] = []
    filters = [builtin.name for builtin in BUILTINS.values() if builtin.filters]
    listed = {written.rule.builtin for written in predicates}
    for index, name in enumerate(policy.model.spec.implicit):
        path = ("spec", "implicit", index)
        if name not in filters:
            hint = did_you_mean(name, filters)
            message = f"there is no built-in predicate `{name}`"
            findings.append(policy.remark("KP103", message, path, hint=hint))
        elif name not in listed:
            rule = Predicate.model_validate({"builtin": name})
            args = _args(policy, path, rule, [])
            valid.append(WrittenRule(policy, path, name, rule, args))
    return valid
