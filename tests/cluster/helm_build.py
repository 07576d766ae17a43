"""Builds Helm, in the version that the tests of the chart use."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from tests.cluster.go_module import GoModule
from tests.cluster.go_program import built_once
from tests.cluster.progress import to_stderr

MODULE: Final = GoModule(Path(__file__).parent / "helm")


def helm_binary() -> Path:
    shown = f"Helm {MODULE.required('helm.sh/helm/v4')}"
    return built_once(MODULE, "helm", "helm", "-s -w", shown=shown, report=to_stderr("helm"))
