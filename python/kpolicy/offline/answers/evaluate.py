"""`eval`: the value of one expression, with variables and with the pod and node of a snapshot.

An expression that the type checker refuses is evaluated too, as CEL without a checker does: a wrong
type in a part that is not reached does not change the value. The answer then has both.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from typing import Any, Final

from kpolicy.diagnostics import Diagnostic, Severity, Span, has_errors
from kpolicy.engine import Engine
from kpolicy.offline.answers.expression_values import (
    Exact,
    NotAValueError,
    exact_of,
    is_plain_enough,
    plain,
)
from kpolicy.offline.answers.policy_names import PolicyNames
from kpolicy.offline.answers.subexpressions import Step, steps, used_variables, variable_name
from kpolicy.offline.snapshots.cluster_snapshot import Snapshot
from kpolicy.offline.snapshots.pod_lookup import (
    full_key,
    key_of_pod,
    pods_by_key,
    unknown_pod,
    unplaced,
)
from kpolicy.policy.cel import CompiledExpression, Environment, Type, compile_expression
from kpolicy.policy.nearest import did_you_mean

# The cost limit of policies does not apply here. The engine counts the cost.
_COST_MAX: Final = 2**62
# Codes of errors in the request. Compiling gives KPxxx, evaluating the codes of
# `docs/internals/expressions.md`.
BAD_REQUEST: Final = "bad_request"
UNKNOWN_OBJECT: Final = "unknown_object"
# The engine's code for a variable that is not in the form of a value.
_UNREAD: Final = "IR000"
_ROOTS: Final = ("pod", "node", "namespaceObject", "cluster")


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
) -> Evaluated:
    """Evaluate an expression of the policy language.

    `variables` are JSON values by name. With a snapshot it sees `cluster`, with a pod (`ns/name`)
    `pod` and `namespaceObject`, with a node `node`; with the names of a policy, its `variables` and
    `params`."""
    work = Evaluating(snapshot, names)
    return work.evaluate(expression, variables, pod=pod, node=node, traced=traced)


class Evaluating:
    """Evaluates many expressions over one snapshot, with the names of one policy."""

    def __init__(
        self,
        snapshot: Snapshot | None = None,
        names: PolicyNames | None = None,
        *,
        engine: Engine | None = None,
    ) -> None:
        """`engine` already holds a cluster and a program, and is used instead of a snapshot."""
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
            errors = filter(_is_error, variable.diagnostics if variable else ())
            first = next(errors, None)
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
                answer = json.loads(self._engine.evaluate(encoded))
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
