"""`eval`: the value of one expression, with variables, a pod, a node, and a policy.

An expression that the type checker refuses is evaluated too, as CEL without a checker does: a wrong
type in a part that is not reached does not change the value. The answer then has both.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import field, replace
from typing import Any, Final

from kpolicy.diagnostics import Diagnostic, Severity, Span, did_you_mean, has_errors
from kpolicy.engine import Engine
from kpolicy.offline.answers.expression_values import (
    Exact,
    NotAValueError,
    Step,
    exact_of,
    is_plain_enough,
    plain,
    steps,
    used_variables,
    variable_name,
)
from kpolicy.offline.snapshots.cluster_snapshot import (
    Snapshot,
    full_key,
    key_of_pod,
    pods_by_key,
    unknown_pod,
    unplaced,
)
from kpolicy.policy.assembly.expressions import Expressions
from kpolicy.policy.assembly.read_policy import Policy
from kpolicy.policy.assembly.resolve import AppliedRule
from kpolicy.policy.cel import CompiledExpression, Environment, Type, compile_expression
from kpolicy.policy.cel.facts import NOW
from kpolicy.policy.cel.scope import Parameter
from kpolicy.policy.compile import Examined
from kpolicy.quick_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class PolicyNames:
    """`variables` are texts by name, each seeing those before it. `expression` is that of the rule
    that was asked for."""

    variables: Mapping[str, str] = field(default_factory=dict)
    params: Mapping[str, Parameter] = field(default_factory=dict)
    expression: str = ""


@dataclass(frozen=True, slots=True)
class NothingMeant:
    """Why it is not clear which policy or rule is meant."""

    message: str
    hint: str = ""


def names_in(examined: Examined, rule: str = "") -> PolicyNames | NothingMeant:
    """The names of the policy that has `rule` (`NAME`, or `POLICY/NAME`), or of the only policy.

    Bases of others do not count, because those others have their names too."""
    if rule:
        return _of_rule(examined, rule)
    bases = {policy.base for policy in examined.policies}
    leaves = [policy for policy in examined.policies if policy.name not in bases]
    if len(leaves) != 1:
        listed = ", ".join(f"`{policy.name}`" for policy in leaves)
        hint = "name a rule of the one that is meant: `--rule POLICY/NAME`"
        return NothingMeant(f"there are {len(leaves)} policies: {listed}", hint)
    return _names(examined.expressions.own[leaves[0].name])


def _of_rule(examined: Examined, name: str) -> PolicyNames | NothingMeant:
    known = dict(_rules(examined))
    found = {full: rule for full, rule in known.items() if name in (full, full.partition("/")[2])}
    if not found:
        hint = did_you_mean(name, [full.partition("/")[2] for full in known])
        return NothingMeant(f"no rule is called `{name}`", hint)
    if len(found) > 1:
        listed = ", ".join(f"`{full}`" for full in found)
        return NothingMeant(f"{len(found)} rules are called `{name}`", f"say which: {listed}")
    [applied] = found.values()
    written = applied.written
    names = _names(examined.expressions.of(applied.heir, written.policy.name))
    return PolicyNames(names.variables, names.params, written.rule.expression or "")


def _rules(examined: Examined) -> Iterator[tuple[str, AppliedRule]]:
    """By `POLICY/NAME`. The policy is the one that serves a profile with the rule."""
    for profile in examined.resolution.profiles.values():
        for effective in (served.effective for served in profile):
            policy: Policy = effective.policy
            for rule in (*effective.predicates, *effective.priorities):
                yield f"{policy.name}/{rule.written.name}", rule


def profile_expressions(examined: Examined, profile: str) -> Iterator[tuple[str, PolicyNames]]:
    """Every expression that a profile evaluates: of `POLICY/RULE`, its message and conditions."""
    for served in examined.resolution.profiles[profile]:
        for applied in (*served.predicates, *served.priorities):
            written = applied.written
            names = _names(examined.expressions.of(applied.heir, written.policy.name))
            title = f"{served.effective.policy.name}/{written.name}"
            texts = {
                title: written.rule.expression,
                f"{title}.messageExpression": getattr(written.rule, "message_expression", None),
            }
            for condition in (
                *written.policy.model.spec.match_conditions,
                *written.rule.match_conditions,
            ):
                texts[f"{title}.matchConditions.{condition.name}"] = condition.expression
            for place, text in texts.items():
                if text:
                    yield place, PolicyNames(names.variables, names.params, text)


def _names(expressions: Expressions) -> PolicyNames:
    return PolicyNames(expressions.variable_texts, expressions.params)


# The cost limit of policies does not apply here. The engine counts the cost.
_COST_MAX: Final = 2**62
# Codes of errors in the request. Compiling gives KPxxx, evaluating the codes of
# `docs/internals/expressions.md`.
BAD_REQUEST: Final = "bad_request"
UNKNOWN_OBJECT: Final = "unknown_object"
# The engine's code for a variable that is not in the form of a value.
_UNREAD: Final = "IR000"
_ROOTS: Final = ("pod", "node", "namespaceObject", "cluster", NOW)


@dataclass(frozen=True, slots=True)
class EvaluationError:
    """Why there is no value. `span` is in the text of the expression, if the error has a place."""

    code: str
    message: str
    hint: str = ""
    span: Span | None = None

    def line(self) -> dict[str, Any]:
        line: dict[str, Any] = {"code": self.code, "message": self.message}
        if self.hint:
            line["hint"] = self.hint
        if self.span is not None:
            line |= {"start": self.span.start, "end": self.span.end}
        return line


@dataclass(frozen=True, slots=True)
class Evaluated:
    """`type` is the name that CEL's `type()` gives; `exact` the value in the exact form of
    docs/internals/expressions.md; `findings` are those of the compiler."""

    expression: str
    type: str = ""
    exact: Exact = None
    error: EvaluationError | None = None
    findings: tuple[Diagnostic, ...] = ()
    # With `traced`: the value of every sub-expression, and the cost.
    steps: Step | None = None
    spent: int = 0

    @property
    def is_refused(self) -> bool:
        """Whether a policy with this expression would not load."""
        return has_errors(self.findings)

    @property
    def value(self) -> Any:
        """The value in plain JSON."""
        return plain(self.exact)

    def line(self) -> dict[str, Any]:
        """The JSON of `kpolicy eval --output json`."""
        line: dict[str, Any]
        if self.error is not None:
            line = {"error": self.error.line()}
        else:
            line = {"type": self.type, "value": self.value}
            if not is_plain_enough(self.exact):
                line["exact"] = self.exact
            if self.is_refused:
                line["findings"] = [
                    _error(finding).line() for finding in self.findings if _is_error(finding)
                ]
        if self.steps is not None:
            line |= {"cost": self.spent, "explain": self.steps.line()}
        return line


def evaluate(
    expression: str,
    variables: Mapping[str, Any] | None = None,
    *,
    snapshot: Snapshot | None = None,
    pod: str = "",
    node: str = "",
    names: PolicyNames | None = None,
    traced: bool = False,
    now_ns: int | None = None,
) -> Evaluated:
    """Evaluate an expression of the policy language.

    `variables` are JSON values by name. With a snapshot it sees `cluster`, with a pod (`ns/name`)
    `pod` and `namespaceObject`, with a node `node`; with the names of a policy, its `variables` and
    `params`. `now` is `now_ns`, or the time at which the snapshot was recorded."""
    return Evaluating(snapshot, names, now_ns=now_ns).evaluate(
        expression, variables, pod=pod, node=node, traced=traced
    )


class Evaluating:
    """Evaluates many expressions over one snapshot, with the names of one policy."""

    def __init__(
        self,
        snapshot: Snapshot | None = None,
        names: PolicyNames | None = None,
        *,
        engine: Engine | None = None,
        now_ns: int | None = None,
    ) -> None:
        """`engine` already holds a cluster and a program, and is used instead of a snapshot.
        `now_ns`: the time that expressions read, instead of that of the snapshot."""
        recorded_ns = snapshot.now_ns if snapshot is not None else None
        self._now_ns = recorded_ns if now_ns is None else now_ns
        self._snapshot = snapshot
        self._names = names or PolicyNames()
        self._is_prepared = engine is not None
        self._engine = engine or (Engine() if snapshot is None else snapshot.engine())
        self._pending: frozenset[str] | None = None

    def evaluate(
        self,
        expression: str,
        variables: Mapping[str, Any] | None = None,
        *,
        pod: str = "",
        node: str = "",
        traced: bool = False,
    ) -> Evaluated:
        try:
            values = {name: exact_of(value) for name, value in (variables or {}).items()}
        except NotAValueError as error:
            return _failed(expression, BAD_REQUEST, str(error))
        except (RecursionError, LookupError, AttributeError, TypeError):
            return _failed(expression, BAD_REQUEST, "a variable is nested too deeply or ill-formed")
        environment = self._environment(values, pod, node)
        compiled = compile_expression(expression, environment=environment)
        findings = tuple(self._hinted(expression, found) for found in compiled.diagnostics)
        if compiled.ir is None:
            compiled = compile_expression(
                expression, environment=replace(environment, checked=False)
            )
        if compiled.ir is None:
            return _refused(expression, (*findings, *self._broken(expression, environment)))
        self._read_for(compiled.ir)
        request = {"ir": compiled.ir, "variables": values, "trace": traced}
        request |= {"pod": full_key(pod)} if pod else {}
        request |= {"node": node} if node else {}
        answer = replace(self._answered(compiled, request), findings=findings)
        if answer.error is None or not has_errors(findings):
            return answer
        return replace(_refused(expression, findings), steps=answer.steps, spent=answer.spent)

    def _read_for(self, ir: dict[str, Any]) -> None:
        """Makes the engine keep the API paths that the expression reads."""
        if self._is_prepared:
            return
        try:
            self._engine.keep(json.dumps(ir).encode())
        except (ValueError, RecursionError):
            return  # evaluating the request fails with the same error
        if self._snapshot is not None and self._engine.stale():
            for text in self._snapshot.texts:
                self._engine.load_objects(text.body, "")

    def _environment(self, values: Mapping[str, Exact], pod: str, node: str) -> Environment:
        known = {
            "pod": bool(pod),
            "namespaceObject": bool(pod),
            "node": bool(node),
            "cluster": self._snapshot is not None or self._is_prepared,
            NOW: self._now_ns is not None,
        }
        environment = Environment(
            roots=tuple(root for root in _ROOTS if known[root] and root not in values),
            params=self._names.params,
            inputs={name: Type("dyn") for name in values},
            cost_max=_COST_MAX,
            constant_patterns=False,
        )
        variables: dict[str, CompiledExpression] = {}
        for name, text in self._names.variables.items():
            seeing = replace(environment, variables=dict(variables))
            variables[name] = compile_expression(text, environment=seeing, is_variable=True)
        return replace(environment, variables=variables)

    def _broken(self, expression: str, environment: Environment) -> Iterator[Diagnostic]:
        """Why variables that the expression uses cannot be compiled."""
        for name, span in used_variables(expression):
            variable = environment.variables.get(name)
            first = next(filter(_is_error, variable.diagnostics if variable else ()), None)
            if variable is not None and first is not None:
                first = self._hinted(variable.text, first)
                message = f"in `variables.{name}`: {first.message}"
                yield replace(first, message=message, span=span, notes=(), fix=None)
            elif variable is not None and variable.tree is None:
                for inner in self._broken(variable.text, environment):
                    yield replace(inner, span=span)

    def _hinted(self, text: str, finding: Diagnostic) -> Diagnostic:
        """Adds a hint that names the flag which makes a root such as `node` known."""
        name = text[finding.span.start : finding.span.end] if finding.span is not None else ""
        if finding.code != "KP201" or name not in _ROOTS:
            return finding
        if name == NOW:
            return replace(finding, hint="give a time (`--now`), or a snapshot that was recorded")
        wanted = {"pod": "a pod", "namespaceObject": "a pod", "node": "a node"}.get(name, "")
        parts = (["a snapshot"] if self._snapshot is None else []) + ([wanted] if wanted else [])
        return replace(finding, hint=f"give {' and '.join(parts)}, or a variable `{name}`")

    def _answered(self, compiled: CompiledExpression, request: dict[str, Any]) -> Evaluated:
        text = compiled.text
        try:
            encoded = json.dumps(request, ensure_ascii=False).encode("utf-8")
        except (UnicodeEncodeError, RecursionError):
            return _failed(text, BAD_REQUEST, "a text is not Unicode, or nested too deeply")
        with self._as_if_not_there(request.get("pod", "")):
            try:
                answer = json.loads(self._engine.evaluate(encoded, self._now_ns or 0))
            except (ValueError, RecursionError) as why:
                return _failed(text, BAD_REQUEST, str(why))
        assert compiled.ir is not None
        texts = self._names.variables
        seen = steps(text, compiled.ir, answer["trace"], texts) if "trace" in answer else None
        spent = answer.get("spent", 0)
        if "value" in answer:
            return Evaluated(text, answer["type"], answer["value"], steps=seen, spent=spent)
        error = self._error(compiled.ir, answer)
        return Evaluated(text, error=error, steps=seen, spent=spent)

    def _error(self, ir: dict[str, Any], answer: dict[str, Any]) -> EvaluationError:
        if "refused" in answer:
            refused = answer["refused"]
            is_object = refused["code"].startswith("EV")
            is_unread = refused["code"] == _UNREAD
            code = UNKNOWN_OBJECT if is_object else BAD_REQUEST if is_unread else refused["code"]
            hint = self._near(refused["message"]) if is_object else ""
            return EvaluationError(code, refused["message"], hint)
        error = answer["error"]
        start, end, *within = ir["spans"][error["node"]]
        if not within:
            return EvaluationError(error["code"], error["message"], "", Span(start, end))
        part = self._names.variables[variable_name(within[0])][start:end]
        return EvaluationError(error["code"], error["message"], f"in `{within[0]}`: `{part}`")

    def _near(self, message: str) -> str:
        """Hints at the object that was perhaps meant by an unknown name."""
        *_, what, name = message.split()
        if self._snapshot is None:
            return ""
        if what == "pod":
            return unknown_pod(self._snapshot, name).hint
        nodes = [
            str(item.get("metadata", {}).get("name", ""))
            for _, item in self._snapshot.objects()
            if item.get("kind") == "Node"
        ]
        return did_you_mean(name, nodes)

    @contextmanager
    def _as_if_not_there(self, key: str) -> Iterator[None]:
        """Inside, a pod that is on a node counts as pending, as when rules judge it."""
        if not key or self._snapshot is None:
            yield
            return
        if self._pending is None:
            self._pending = frozenset(map(key_of_pod, self._engine.pending()))
        placed = {} if key in self._pending else pods_by_key(self._snapshot, [key])
        with unplaced(self._engine, placed[key]) if placed else nullcontext():
            yield


def _failed(expression: str, code: str, message: str) -> Evaluated:
    return Evaluated(expression, error=EvaluationError(code, message))


def _refused(expression: str, findings: tuple[Diagnostic, ...]) -> Evaluated:
    first = next(filter(_is_error, findings), None)
    if first is None:
        return _failed(expression, BAD_REQUEST, "the expression cannot be compiled")
    return Evaluated(expression, error=_error(first), findings=findings)


def _is_error(finding: Diagnostic) -> bool:
    return finding.severity is Severity.ERROR


def _error(finding: Diagnostic) -> EvaluationError:
    return EvaluationError(finding.code, finding.message, finding.hint, finding.span)
