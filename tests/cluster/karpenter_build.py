"""Builds Karpenter's filter of pods, in the version that go.mod names."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from tests.cluster.go_module import GoModule
from tests.cluster.go_program import built_once
from tests.cluster.progress import to_stderr

MODULE: Final = GoModule(Path(__file__).parent / "karpenter")


def karpenter_binary() -> Path:
    shown = f"the pod filter of Karpenter {MODULE.required('sigs.k8s.io/karpenter')}"
    return built_once(
        MODULE, "karpenter", "filter", "-s -w", shown=shown, report=to_stderr("karpenter")
    )
