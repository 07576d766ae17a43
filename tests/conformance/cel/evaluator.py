"""The Rust evaluator as the tests reach it: through the built engine, or an example binary.

`KPOLICY_CEL_EVALUATE=/path/to/examples/evaluate` takes the binary of
`cargo build -p kpolicy-cel --example evaluate` instead of `kpolicy._engine`, while working on the
crate alone.
"""

from __future__ import annotations

import json
import os
import subprocess
from typing import Any


def evaluate_all(requests: list[tuple[dict[str, Any], dict[str, Any]]]) -> list[dict[str, Any]]:
    """The answers to (IR, variables), in order."""
    binary = os.environ.get("KPOLICY_CEL_EVALUATE")
    if binary is None:
        from kpolicy._engine import evaluate_expression

        return [
            json.loads(evaluate_expression(json.dumps(ir).encode(), json.dumps(variables).encode()))
            for ir, variables in requests
        ]
    lines = "".join(json.dumps({"ir": ir, "vars": names}) + "\n" for ir, names in requests)
    done = subprocess.run([binary], input=lines.encode(), capture_output=True, check=True)
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(answers) == len(requests), done.stderr.decode()
    return answers
