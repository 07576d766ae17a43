"""kpolicy: a policy-driven scheduler for Kubernetes.

Owns the public names, which are loaded when they are first used, so that the command line starts
quickly. Assumes nothing. Computes nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from kpolicy.diagnostics import Diagnostic, Place, Severity, Span
from kpolicy.version import VERSION

if TYPE_CHECKING:
    from kpolicy.offline.bench.measure import Measured, measure
    from kpolicy.offline.bench.world import Size
    from kpolicy.offline.diff import Diff, Difference, diff
    from kpolicy.offline.evaluate import Evaluated, evaluate
    from kpolicy.offline.explain import Explained, explain
    from kpolicy.offline.problem import Problem
    from kpolicy.offline.recording.header import Header, Origin
    from kpolicy.offline.recording.writer import write_snapshot
    from kpolicy.offline.redacting import redact
    from kpolicy.offline.simulate import SimulatedPod, Simulation, simulate
    from kpolicy.offline.snapshot import PolicyRefusedError, Snapshot
    from kpolicy.offline.survey import Survey, survey
    from kpolicy.offline.testing.results import PolicyTestRun
    from kpolicy.offline.testing.session import run_tests
    from kpolicy.policy.assembly.program import Program
    from kpolicy.policy.compile import Compiled, compile_policy
    from kpolicy.policy.format.convert import Converted, convert_policy
    from kpolicy.policy.format.reformat import Reformatted, reformat
    from kpolicy.policy.yaml.source import Source

__version__ = VERSION

_LAZY: Final = {
    "Diff": "kpolicy.offline.diff",
    "Difference": "kpolicy.offline.diff",
    "Evaluated": "kpolicy.offline.evaluate",
    "Explained": "kpolicy.offline.explain",
    "Header": "kpolicy.offline.recording.header",
    "Measured": "kpolicy.offline.bench.measure",
    "Origin": "kpolicy.offline.recording.header",
    "PolicyRefusedError": "kpolicy.offline.snapshot",
    "PolicyTestRun": "kpolicy.offline.testing.results",
    "Problem": "kpolicy.offline.problem",
    "SimulatedPod": "kpolicy.offline.simulate",
    "Simulation": "kpolicy.offline.simulate",
    "Size": "kpolicy.offline.bench.world",
    "Snapshot": "kpolicy.offline.snapshot",
    "Survey": "kpolicy.offline.survey",
    "diff": "kpolicy.offline.diff",
    "evaluate": "kpolicy.offline.evaluate",
    "explain": "kpolicy.offline.explain",
    "measure": "kpolicy.offline.bench.measure",
    "redact": "kpolicy.offline.redacting",
    "run_tests": "kpolicy.offline.testing.session",
    "simulate": "kpolicy.offline.simulate",
    "survey": "kpolicy.offline.survey",
    "write_snapshot": "kpolicy.offline.recording.writer",
    "Compiled": "kpolicy.policy.compile",
    "Program": "kpolicy.policy.assembly.program",
    "Reformatted": "kpolicy.policy.format.reformat",
    "Source": "kpolicy.policy.yaml.source",
    "Converted": "kpolicy.policy.format.convert",
    "compile_policy": "kpolicy.policy.compile",
    "convert_policy": "kpolicy.policy.format.convert",
    "reformat": "kpolicy.policy.format.reformat",
}

__all__ = [
    "Compiled",
    "Converted",
    "Diagnostic",
    "Diff",
    "Difference",
    "Evaluated",
    "Explained",
    "Header",
    "Measured",
    "Origin",
    "Place",
    "PolicyRefusedError",
    "PolicyTestRun",
    "Problem",
    "Program",
    "Reformatted",
    "Severity",
    "SimulatedPod",
    "Simulation",
    "Size",
    "Snapshot",
    "Source",
    "Span",
    "Survey",
    "__version__",
    "compile_policy",
    "convert_policy",
    "diff",
    "evaluate",
    "explain",
    "measure",
    "redact",
    "reformat",
    "run_tests",
    "simulate",
    "survey",
    "write_snapshot",
]


def __getattr__(name: str) -> Any:
    module = _LAZY.get(name)
    if module is None:
        raise AttributeError(f"module 'kpolicy' has no attribute '{name}'")
    return getattr(import_module(module), name)
