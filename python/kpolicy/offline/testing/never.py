"""`never`: an expression that must be true of no pod that a replay places.

Owns what it sees (`pod`, `decision`, and all that rules see; `decision.node` is the node chosen)
and how it is asked. Assumes an engine that holds the pod on its node. Must not know replays.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from kpolicy.diagnostics import Diagnostic, Span
from kpolicy.engine import Engine
from kpolicy.offline.values import given
from kpolicy.policy.cel import Environment, Type, compile_expression

# Texts are passed over; `decision.node` becomes `node` with as many blanks, so that places stay.
_TOKEN: Final = re.compile(
    r"""[rR]?(?:\"{3}[\s\S]*?\"{3}|'{3}[\s\S]*?'{3}|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')"""
    r"|(?<![\w.])decision\s*\.\s*node(?!\w)"
)
_ENVIRONMENT: Final = Environment(
    roots=("pod", "node", "namespaceObject", "cluster"),
    inputs={"decision": Type("map", (Type("string"), Type("dyn")))},
)
_BOOL: Final = (Type("bool"),)


@dataclass(frozen=True, slots=True)
class Never:
    """`ir` is None where the expression has errors; spans are in its text."""

    ir: Mapping[str, Any] | None
    diagnostics: tuple[Diagnostic, ...]

    def is_true(
        self, engine: Engine, pod: str, node: str, decision: Mapping[str, Any]
    ) -> bool | str:
        """Or why it cannot be evaluated."""
        variables = {"decision": given(dict(decision))}
        request = {"ir": self.ir, "variables": variables, "pod": pod, "node": node, "trace": False}
        answer = json.loads(engine.evaluate(json.dumps(request).encode()))
        if "value" in answer:
            return answer["value"] is True
        told = answer.get("error") or answer["refused"]
        return str(told["message"])


def compiled(text: str) -> Never:
    found = compile_expression(_TOKEN.sub(_node, text), expects=_BOOL, environment=_ENVIRONMENT)
    whole = Span(0, len(text))
    said = tuple(
        Diagnostic(one.code, one.severity, one.message, one.hint, one.span or whole)
        for one in found.diagnostics
    )
    return Never(found.ir, said)


def _node(match: re.Match[str]) -> str:
    text = match[0]
    return "node".ljust(len(text)) if text.startswith("decision") else text
