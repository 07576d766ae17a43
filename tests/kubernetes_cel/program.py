"""The Go program that evaluates expressions in Kubernetes' own CEL environment: its requests and
its answers.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from tests.cluster.go_module import GoModule
from tests.cluster.go_program import built_once
from tests.cluster.progress import to_stderr

MODULE: Final = GoModule(Path(__file__).parent / "evaluator")
# The environments of the program.
KUBERNETES: Final = "kubernetes"
CEL_GO: Final = "cel-go"
NEWEST_STRINGS: Final = "newest strings"


@dataclass(frozen=True, slots=True)
class Question:
    """An expression, the types of its variables, and rows of their values in our JSON form."""

    expression: str
    types: Mapping[str, str] = field(default_factory=dict)
    rows: Sequence[Mapping[str, Any]] = ({},)
    library: str = CEL_GO

    def line(self) -> str:
        line = {
            "library": self.library,
            "expr": self.expression,
            "types": dict(self.types),
            "rows": list(self.rows),
        }
        return json.dumps(line) + "\n"


def answers_of_kubernetes(questions: Sequence[Question]) -> list[list[dict[str, Any]]]:
    """An answer for each row: `value`, `error` or `refused`."""
    lines = "".join(question.line() for question in questions)
    done = subprocess.run([_binary()], input=lines.encode(), capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()
    answers = [json.loads(line) for line in done.stdout.decode().splitlines()]
    assert len(answers) == len(questions)
    return [
        answer if isinstance(answer, list) else [answer] * len(question.rows)
        for question, answer in zip(questions, answers, strict=True)
    ]


def _binary() -> Path:
    shown = f"the CEL environment of Kubernetes ({MODULE.required('k8s.io/apiserver')})"
    return built_once(
        MODULE,
        "kubernetes_cel",
        "evaluator",
        "-s -w",
        shown=shown,
        report=to_stderr("kubernetes_cel"),
    )
