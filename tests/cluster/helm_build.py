"""Builds Helm, in the version that the tests of the chart use."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Final

from tests.cluster.go_module import GoModule
from tests.cluster.go_program import built_once

MODULE: Final = GoModule(Path(__file__).parent / "helm")


def helm_binary() -> Path:
    shown = f"Helm {MODULE.required('helm.sh/helm/v4')}"
    return built_once(MODULE, "helm", "helm", "-s -w", shown=shown, report=_say)


def _say(line: str) -> None:
    print(f"helm: {line}", file=sys.stderr, flush=True)
