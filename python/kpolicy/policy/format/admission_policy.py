"""Writes rules as MutatingAdmissionPolicies, which give pods the node affinity that says the same.

Autoscalers and Kueue read pods and not policies. A rule that reads only fields of pods and labels
of nodes is written if affinity says it exactly; each other one is named in a comment and in a
finding (KP608). What a pod has already stays: each of its terms gets the requirements of the rule.
A pod whose terms have them is left as it is, so that a policy may be applied again.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any as Json, Final

from kpolicy.diagnostics import Diagnostic
from kpolicy.policy.assembly.read_policy import Policy, condition_paths
from kpolicy.policy.assembly.resolve import AppliedRule
from kpolicy.policy.cel.tree import Tree
from kpolicy.policy.compile import Examined, examine
from kpolicy.policy.format.affinity_of_rule import accepted, verdict_of
from kpolicy.policy.format.affinity_terms import (
    All,
    Any,
    Formula,
    NotSayableError,
    Term,
    quoted,
    terms_of,
)
from kpolicy.policy.format.conversion import Converted
from kpolicy.policy.format.exports import head, left_out
from kpolicy.policy.format.yaml_text import emitted
from kpolicy.policy.models.scheduling_policy import Predicate
from kpolicy.policy.yaml.source import Source, named_sources

_API_VERSION: Final = "admissionregistration.k8s.io/v1"
_REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
_NAME_MAX: Final = 200
_UNSCHEDULABLE_TERM: Final = (
    "{'matchExpressions': ["
    "{'key': dyn('kpolicy.dev/no-node'), 'operator': dyn('Exists'), 'values': dyn([])}, "
    "{'key': dyn('kpolicy.dev/no-node'), 'operator': dyn('DoesNotExist'), 'values': dyn([])}], "
    "'matchFields': []}"
)


@dataclass(frozen=True, slots=True)
class _Target:
    """What is admitted, and where its pod is."""

    suffix: str
    groups: tuple[str, ...]
    resource: str
    root: str
    operations: tuple[str, ...]

    @property
    def pointer(self) -> str:
        """The JSON pointer of the pod's spec."""
        return "/" + "/".join((*self.root.split(".")[1:], "spec"))


_PODS: Final = _Target("pods", ("",), "pods", "object", ("CREATE",))
_TEMPLATES: Final = (
    _Target("jobs", ("batch",), "jobs", "object.spec.template", ("CREATE",)),
    _Target("daemonsets", ("apps",), "daemonsets", "object.spec.template", ("CREATE", "UPDATE")),
)
# What a template does not have: admission gives it to each pod.
_ONLY_OF_PODS: Final = ".spec.priority "


@dataclass(slots=True)
class _Found:
    """A rule and the scheduler names of the profiles that have it."""

    applied: AppliedRule
    scheduler_names: list[str] = field(default_factory=list)


def write_admission_policies(
    sources: Sequence[Source | str] | Source | str,
    *,
    release: str = "",
    params: Mapping[str, Json] | None = None,
    templates: bool = False,
) -> Converted:
    """`templates`: also for the pod templates of Jobs and DaemonSets. The diagnostics name what is
    left out."""
    named = named_sources(sources)
    examined = examine(named, release=release, params=params)
    compiled = examined.compiled()
    if compiled.program is None:
        return Converted(None, compiled.diagnostics)
    documents: list[dict[str, Json]] = []
    findings: list[Diagnostic] = []
    for found in _rules(examined):
        for target in (_PODS, *(_TEMPLATES if templates else ())):
            try:
                terms = terms_of(_formula(examined, found.applied, target.root))
                _check_template(terms, target)
            except NotSayableError as error:
                findings.append(_left_out(found.applied, target, str(error)))
                if target is _PODS:
                    break
            else:
                names = {document["metadata"]["name"] for document in documents}
                documents += _documents(found, terms, target, names)
    text = head("admission-policy", named, findings)
    text += "---\n".join(emitted(document, {}) for document in documents)
    return Converted(text, (*compiled.diagnostics, *findings))


def _rules(examined: Examined) -> list[_Found]:
    """The predicates that reject by an expression, in the order of profiles and policies."""
    found: dict[tuple[object, ...], _Found] = {}
    for scheduler_name, served in examined.resolution.profiles.items():
        for applied in (applied for policy in served for applied in policy.predicates):
            written, rule = applied.written, applied.written.rule
            assert isinstance(rule, Predicate)
            is_audit = rule.enforcement == "audit" or written.policy.model.spec.shadow
            if written.builtin is None and not is_audit:
                unless = tuple(policy.name for policy in applied.unless)
                key = (*written.identity, applied.heir, unless)
                found.setdefault(key, _Found(applied)).scheduler_names.append(scheduler_name)
    return list(found.values())


def _formula(examined: Examined, applied: AppliedRule, root: str) -> Formula:
    """Where the rule accepts a node, or does not concern the pod."""
    written, rule = applied.written, applied.written.rule
    assert isinstance(rule, Predicate)
    own = examined.expressions.of(applied.heir, written.policy.name)
    of_policy = condition_paths(("spec",), written.policy.model.spec)
    conditions = [own.tree(at) for at in (*of_policy, *condition_paths(written.path, rule))]
    expression = own.tree((*written.path, "expression"))
    assert expression is not None, "the policy compiles"
    passes = accepted(expression, accepts_errors=rule.on_error == "accept", root=root)
    ignores = written.policy.model.spec.failure_policy == "Ignore"
    holds = [verdict_of(tree, root) for tree in conditions if tree is not None]
    replaced = [_unmatched(examined, applied, policy, root) for policy in applied.unless]
    if ignores and (holds or replaced):
        raise NotSayableError("its policy skips pods on which a condition errs")
    apart = Any((*(each.no for each in holds), *(matched for _, matched in replaced)))
    concerned = All((*(each.yes for each in holds), *(unmatched for unmatched, _ in replaced)))
    return Any((apart, All((concerned, passes)))) if holds or replaced else passes


def _unmatched(
    examined: Examined, applied: AppliedRule, policy: Policy, root: str
) -> tuple[Formula, Formula]:
    """Where a document that replaces the rule does not match the pod, and where it does."""
    expressions = examined.expressions.of(applied.heir, policy.name)
    trees: list[Tree | None] = [
        expressions.tree(at) for at in condition_paths(("spec",), policy.model.spec)
    ]
    sides = [verdict_of(tree, root) for tree in trees if tree is not None]
    return Any(tuple(side.no for side in sides)), All(tuple(side.yes for side in sides))


def _check_template(terms: Sequence[Term], target: _Target) -> None:
    texts = [test for term in terms for test in term.tests]
    if target is not _PODS and any(_ONLY_OF_PODS in text for text in texts):
        raise NotSayableError("it reads `pod.priority`, which templates do not have")


def _left_out(applied: AppliedRule, target: _Target, why: str) -> Diagnostic:
    where = "" if target is _PODS else f" for templates of {target.suffix}"
    return left_out(f"the predicate `{applied.written.name}`{where}: {why}", applied.written.place)


# The documents.


def _documents(
    found: _Found, terms: Sequence[Term], target: _Target, used: set[str]
) -> Iterator[dict[str, Json]]:
    written = found.applied.written
    name = _name((written.policy.name, written.name, target.suffix), used)
    metadata = {
        "name": name,
        "annotations": {"kpolicy.dev/rule": f"{written.policy.name}/{written.name}"},
    }
    rules = [
        {
            "apiGroups": list(target.groups),
            "apiVersions": ["v1"],
            "operations": list(target.operations),
            "resources": [target.resource],
        }
    ]
    yield {
        "apiVersion": _API_VERSION,
        "kind": "MutatingAdmissionPolicy",
        "metadata": metadata,
        "spec": {
            # The scheduler still asks the rule: affinity only lets others see it.
            "failurePolicy": "Ignore",
            "reinvocationPolicy": "IfNeeded",
            "matchConstraints": {"resourceRules": rules},
            "matchConditions": list(_match_conditions(found, target)),
            "variables": list(_variables(terms, target)),
            "mutations": [
                {"patchType": "JSONPatch", "jsonPatch": {"expression": _mutation(target)}}
            ],
        },
    }
    yield {
        "apiVersion": _API_VERSION,
        "kind": "MutatingAdmissionPolicyBinding",
        "metadata": {"name": name},
        "spec": {"policyName": name},
    }


def _name(parts: Sequence[str], used: set[str]) -> str:
    """A name of an API object that no other document has."""
    words = (re.sub(r"[^a-z0-9-]+", "-", part.lower()).strip("-") for part in ("kpolicy", *parts))
    first = name = "-".join(words)[:_NAME_MAX]
    number = 2
    while name in used:
        name, number = f"{first}-{number}", number + 1
    return name


def _match_conditions(found: _Found, target: _Target) -> Iterator[dict[str, str]]:
    listed = ", ".join(quoted(name) for name in found.scheduler_names)
    scheduler = f"{target.root}.spec.schedulerName"
    yield {"name": "of-the-profile", "expression": f"{scheduler} in [{listed}]"}
    if target is _PODS:
        yield {"name": "without-a-node", "expression": "!has(object.spec.nodeName)"}


def _variables(terms: Sequence[Term], target: _Target) -> Iterator[dict[str, str]]:
    """`open`: the rule accepts every node. `before`: the terms of the pod that match any node at
    all, with every list written; `after`: those with the requirements of the rule."""
    affinity = f"{target.root}.spec.affinity"
    listed = f"{affinity}.nodeAffinity.{_REQUIRED}.nodeSelectorTerms"
    steps = (affinity, f"{affinity}.nodeAffinity", f"{affinity}.nodeAffinity.{_REQUIRED}")
    yield {"name": "required", "expression": " && ".join(f"has({step})" for step in steps)}
    yield {
        "name": "before",
        "expression": f"variables.required ? {listed}\n"
        f".filter(t, {_has_any('t.matchExpressions')} || {_has_any('t.matchFields')})\n"
        f".map(t, {{'matchExpressions': {_rewritten('t.matchExpressions')},\n"
        f"'matchFields': {_rewritten('t.matchFields')}}})\n"
        ": [{'matchExpressions': [], 'matchFields': []}]",
    }
    free = [term.condition for term in terms if not term.needs]
    yield {"name": "open", "expression": " ||\n".join(free) or "false"}
    needing = [term for term in terms if term.needs]
    yield {"name": "already", "expression": _already(needing)}
    alternatives = [
        f"({term.condition} ? variables.before.map(t, {{'matchExpressions': t.matchExpressions + "
        f"[{', '.join(need.text() for need in term.needs)}], 'matchFields': t.matchFields}}) : [])"
        for term in needing
    ]
    yield {"name": "after", "expression": " +\n".join(alternatives) or "[]"}


def _already(needing: Sequence[Term]) -> str:
    """Whether each term of the pod has all requirements of an alternative."""
    met = [
        " && ".join(
            (
                f"({term.condition})",
                *(f"{need.text()} in t.matchExpressions" for need in term.needs),
            )
        )
        for term in needing
    ]
    either = " ||\n".join(f"({each})" for each in met) or "false"
    return f"variables.required && variables.before.all(t, {either})"


def _has_any(path: str) -> str:
    return f"(has({path}) && {path}.size() > 0)"


def _rewritten(path: str) -> str:
    """A list of requirements as values that a patch may hold."""
    values = "dyn(has(e.values) ? e.values.map(v, v) : [])"
    written = f"{{'key': dyn(e.key), 'operator': dyn(e.operator), 'values': {values}}}"
    return f"has({path}) ? {path}.map(e, {written}) : []"


def _mutation(target: _Target) -> str:
    affinity, at = f"{target.root}.spec.affinity", f"{target.pointer}/affinity"
    selector = "{'nodeSelectorTerms': variables.after.size() > 0 ? variables.after :\n"
    return (
        "variables.open || variables.already ? [] :\n"
        f"(has({affinity}) ? [] : [JSONPatch{{op: 'add', path: '{at}', value: {{}}}}]) +\n"
        f"(has({affinity}) && has({affinity}.nodeAffinity) ? [] :\n"
        f"[JSONPatch{{op: 'add', path: '{at}/nodeAffinity', value: {{}}}}]) +\n"
        f"[JSONPatch{{op: 'add', path: '{at}/nodeAffinity/{_REQUIRED}',\n"
        f"value: {selector}[{_UNSCHEDULABLE_TERM}]}}}}]"
    )
