"""Lookups of keys that may not exist (KP301), and messages (KP331, KP332).

The conditions around an expression count as guards: the `matchConditions` of the policy and of the
rule hold when the rule is evaluated, a node that is scored has passed the predicates of the policy,
and a message is shown when its predicate is false. Facts of a domain need its label. A rule
with `onError` is not reported, because its author has considered errors. A message must not look up
keys without a guard, must not be too long, and must be one line.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from kpolicy.diagnostics import Diagnostic, Edit, Fix, Span
from kpolicy.policy.cel.facts import ANNOTATION_BYTES_MAX
from kpolicy.policy.cel.tree import Call, Fact, Field, MemberRead, Read, Tree, own_nodes, text_of
from kpolicy.policy.limits import MESSAGE_CHARACTERS_MAX
from kpolicy.policy.lint.lookups import (
    NOTHING,
    KnownKeys,
    Lookup,
    LookupNode,
    both,
    is_optional,
    label_of_domain,
    literal_text,
    unguarded,
)
from kpolicy.policy.lint.written import RuleExpression, WrittenExpression, WrittenPolicy
from kpolicy.policy.models.scheduling_policy import Predicate
from kpolicy.policy.yaml.nodes import Path, find
from kpolicy.quick_dataclass import dataclass

# The words for the owner of a map, and for its keys.
_OWNERS: Final = {"pod": "a pod", "node": "a node", "victim": "a victim"}
# In place of a key that is not in the text of the lookup.
_ANY_KEY: Final = "key"
_QUOTE: Final = "'"
_KEYS: Final = {"labels": "label", "annotations": "annotation", "conditions": "condition"}


@dataclass(frozen=True, slots=True)
class _Use:
    """An expression, the keys that exist when it is evaluated, and the effect of an error."""

    expression: WrittenExpression
    known: KnownKeys
    effect: str
    code: str = "KP301"
    # What the rule has where the key is absent, so that a guard changes no decision.
    otherwise: str = ""


def missing_keys(policy: WrittenPolicy) -> Iterator[Diagnostic]:
    """A lookup in a variable is reported at the variable, if any use of it can err."""
    seen: set[tuple[Path, Span]] = set()
    for use in _uses(policy):
        for lookup in unguarded(policy.guards, use.expression.tree, use.known):
            # None: the variable was inherited, and is reported in its own document.
            name = lookup.within.removeprefix("variables.")
            at = policy.variables.get(name) if name else use.expression
            if at is not None and (at.path, lookup.tree.span) not in seen:
                seen.add((at.path, lookup.tree.span))
                yield _finding(policy, use, at, lookup)


def _uses(policy: WrittenPolicy) -> Iterator[_Use]:
    spec = policy.policy.model.spec
    skips = "makes the policy skip the pod" if spec.failure_policy == "Ignore" else "parks the pod"
    for index, condition in enumerate(policy.conditions):
        yield _Use(condition, _beside(policy, policy.conditions, index), f"an error {skips}")
    for rule in policy.rules:
        for index in range(len(policy.conditions), len(rule.conditions)):
            known = _beside(policy, rule.conditions, index)
            yield _Use(rule.conditions[index], known, f"an error {skips}")
        yield from _of_rule(policy, rule)
    if policy.victims is not None:
        yield _Use(policy.victims, NOTHING, "an error spares the victim")
    if policy.order is not None:
        effect = "an error puts the pod behind those with a number"
        # Which number such a pod is to have, nobody but the author knows.
        yield _Use(policy.order, NOTHING, effect, otherwise="…")
    for hold, conditions in policy.holds:
        known = _beside(policy, conditions, len(conditions))
        yield _Use(hold, known, "an error holds the pod")


def _of_rule(policy: WrittenPolicy, rule: RuleExpression) -> Iterator[_Use]:
    known = _beside(policy, rule.conditions, len(rule.conditions))
    if not rule.is_predicate:
        known = both(known, _passed(policy))
    if find(policy.policy.tree, (*rule.path, "onError")) is None:
        effect = "an error rejects the node" if rule.is_predicate else "an error scores 0"
        number = "0.0" if rule.expression.tree.type.name == "double" else "0"
        otherwise = "false" if rule.is_predicate else number
        yield _Use(rule.expression, known, effect, otherwise=otherwise)
    if rule.message is not None:
        failed = both(known, policy.guards.implied(rule.expression.tree, False))
        yield _Use(rule.message, failed, "then the text of `message` is shown", "KP331")


def _passed(policy: WrittenPolicy) -> KnownKeys:
    """The keys that exist on a node that has passed the predicates about every pod."""
    known: KnownKeys = NOTHING
    for rule in policy.rules:
        written = rule.rule
        if not isinstance(written, Predicate) or policy.own_conditions(rule):
            continue
        if written.enabled and (written.enforcement, written.on_error) == ("deny", "reject"):
            known = both(known, policy.guards.implied(rule.expression.tree, True))
    return known


def _beside(
    policy: WrittenPolicy, conditions: Sequence[WrittenExpression], index: int
) -> KnownKeys:
    """The keys that exist if all conditions but one hold; those before it are evaluated first."""
    known: KnownKeys = NOTHING
    for other, condition in enumerate(conditions):
        if other != index:
            known = both(known, policy.guards.implied(condition.tree, True))
        if other < index:
            known = both(known, policy.guards.evaluated(condition.tree))
    return known


def _finding(policy: WrittenPolicy, use: _Use, at: WrittenExpression, lookup: Lookup) -> Diagnostic:
    tree = lookup.tree
    shown = at.text[tree.span.start : tree.span.end]
    holder, key = _parts(at.text, tree)
    link = ", and" if use.code == "KP301" else ";"
    message = f"`{shown}` is an error {_where(tree, key)}{link} {use.effect}"
    fix = _guarded(use, at, f"{key} in {holder}") if label_of_domain(tree) is not None else None
    hint = _hint(tree, holder, key, use.otherwise, is_read=_is_read(at.tree, tree))
    return policy.finding(at, use.code, message, tree.span, hint, fix=fix)


def _guarded(use: _Use, at: WrittenExpression, guard: str) -> Fix | None:
    """The guard before the whole expression of a rule; nodes without the key fare as before."""
    if at is not use.expression or not use.otherwise or guard.startswith(f"{_ANY_KEY} in "):
        return None
    span = at.tree.span
    before, after = (
        (f"{guard} && (", ")")
        if use.otherwise == "false"
        else (f"{guard} ? (", f") : {use.otherwise}")
    )
    edits = (
        Edit(Span(span.start, span.start), before),
        Edit(Span(span.end, span.end), after),
    )
    return Fix(edits, is_safe=False, keeps_program=False)


def _where(tree: LookupNode, key: str) -> str:
    if not isinstance(tree, Read):
        return "when the map has no such key"
    if tree.name.endswith((".controller.kind", ".controller.name")):
        return "on a pod without a controller"
    if is_optional(tree.name):
        return "on a pod without a ReplicaSet, StatefulSet or ReplicationController"
    if label_of_domain(tree) is not None:
        label = f"the label `{key.strip(_QUOTE)}`" if key.startswith(_QUOTE) else "that label"
        return f"on a node without {label}"
    *_, owner, map_ = ("", *tree.name.removesuffix("[]").split("."))
    what = _KEYS.get(map_, "key")
    if owner == "namespaceObject":
        return f"in a namespace without that {what}"
    if isinstance(tree, MemberRead):
        return f"on a pod without that {what}"
    return f"on {_OWNERS.get(owner, 'what is')} without that {what}"


def _parts(text: str, tree: LookupNode) -> tuple[str, str]:
    """The map and the key as they are written; the key of `m.k` in quotes."""
    label = label_of_domain(tree)
    if label is not None:
        return "node.labels", _label_text(text, tree, label)
    if isinstance(tree, Field):
        holder = tree.operand.span
        return text[holder.start : holder.end], f"'{tree.name}'"
    if is_optional(tree.name):
        return text[tree.span.start : tree.span.end], ""
    if tree.name.endswith((".controller.kind", ".controller.name")) or not tree.args:
        return text[tree.span.start : tree.span.end].rpartition(".")[0], ""
    key = tree.args[1] if isinstance(tree, Call) else tree.args[-1]
    holder_text = text[tree.span.start : key.span.start].rstrip(" [.\n")
    written = text[key.span.start : key.span.end]
    is_name = text_of(key) is not None and written[:1] not in ("'", '"')
    return holder_text, f"'{written}'" if is_name else written


def _label_text(text: str, tree: Tree, label: Tree) -> str:
    """`key` if it is written in a variable: `variables.zone.pods.count(s)`."""
    literal = literal_text(label)
    if literal is not None and not {"'", "\\", "\n"} & set(literal):
        return f"'{literal}'"
    is_inside = tree.span.start <= label.span.start and label.span.end <= tree.span.end
    return text[label.span.start : label.span.end] if is_inside and literal is None else _ANY_KEY


# What reads a number or another value from a text; the empty text of `label` would be an error too.
_READERS: Final = frozenset(
    f"{name}_string"
    for name in (
        *("to_bool", "to_int", "to_uint", "to_double", "to_duration", "to_timestamp"),
        *("quantity", "cpu", "units", "semver", "ip", "cidr", "url"),
    )
)


def _is_read(tree: Tree, lookup: LookupNode) -> bool:
    """Whether the text that is looked up has to be a number or the like."""
    return any(
        part.name in _READERS and any(arg is lookup for arg in part.args)
        for part in own_nodes(tree)
        if isinstance(part, Call)
    )


def _hint(tree: LookupNode, holder: str, key: str, otherwise: str, *, is_read: bool) -> str:
    if not key:
        return f"`has({holder}) && …`"
    is_score = otherwise not in ("", "false")
    guard = f"`{key} in {holder} ? … : {otherwise}`" if is_score else f"`{key} in {holder} && …`"
    is_domain = label_of_domain(tree) is not None
    is_label = holder.endswith(".labels") and isinstance(tree, Fact) and not is_domain
    is_label = is_label and not is_read
    owner = holder.removesuffix(".labels")
    return f"{guard}, or `label({owner}, {key})`" if is_label else guard


_SHOWN: Final = f"{MESSAGE_CHARACTERS_MAX} bytes"


def messages(policy: WrittenPolicy) -> Iterator[Diagnostic]:
    for rule in policy.rules:
        if rule.message is not None:
            yield from _of(policy, rule.message)


def _of(policy: WrittenPolicy, at: WrittenExpression) -> Iterator[Diagnostic]:
    parts = list(_joined(at.tree))
    texts = [(part, text) for part in parts if (text := literal_text(part)) is not None]
    broken = next((part for part, text in texts if "\n" in text or "\r" in text), None)
    if broken is not None:
        hint = "it is shown as one line"
        yield policy.finding(at, "KP332", "a message is one line", broken.span, hint)
    length = sum(len(text.encode("utf-8", "replace")) for _, text in texts)
    if length > MESSAGE_CHARACTERS_MAX:
        message = f"this message always has more than {_SHOWN}: {length:,} are written here"
        yield policy.finding(
            at, "KP331", message, at.tree.span, "what is beyond is cut off in events"
        )
        return
    long = next(
        (p for p in parts if isinstance(p, Read) and p.size.length >= ANNOTATION_BYTES_MAX), None
    )
    if long is not None:
        message = f"this message can have more than {_SHOWN}: an annotation is part of it"
        yield policy.finding(at, "KP331", message, long.span)


def _joined(tree: Tree) -> Iterator[Tree]:
    """The parts that `+` joins, in order."""
    pending = [tree]
    while pending:
        part = pending.pop()
        if isinstance(part, Call) and part.name == "add_string":
            pending.extend(reversed(part.args))
        else:
            yield part
