"""kpolicy: a policy-driven scheduler for Kubernetes.

The public names are loaded when they are first used, so that the command line starts quickly: it
hears ctrl-C only after this module. `typing` takes longer to load than all that is here.
"""

from __future__ import annotations

from kpolicy.version import VERSION

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Final

    from kpolicy.diagnostics import Diagnostic, Place, Severity, Span
    from kpolicy.offline.answers.differences import Diff, Difference
    from kpolicy.offline.answers.evaluate import Evaluated, evaluate
    from kpolicy.offline.answers.pod_decisions import (
        Explained,
        SimulatedPod,
        Simulation,
        explain,
        simulate,
    )
    from kpolicy.offline.answers.policy_diff import diff
    from kpolicy.offline.bench.generated_cluster import Size
    from kpolicy.offline.bench.measure import Measured, measure
    from kpolicy.offline.journal_replay.journal_input import read_journal
    from kpolicy.offline.journal_replay.whole_journal import replay, replay_with
    from kpolicy.offline.plan.journal_plan import journal_plan
    from kpolicy.offline.plan.plan_model import InputPlan, Plan
    from kpolicy.offline.plan.snapshot_plan import PlanOptions, snapshot_plan
    from kpolicy.offline.policy_tests.results import PolicyTestRun
    from kpolicy.offline.policy_tests.session import run_tests
    from kpolicy.offline.redaction.redact import redact
    from kpolicy.offline.snapshot_file.reader import Header, Origin
    from kpolicy.offline.snapshot_file.writer import write_snapshot
    from kpolicy.offline.snapshots.cluster_snapshot import PolicyRefusedError, Snapshot
    from kpolicy.offline.snapshots.snapshot_problem import Problem
    from kpolicy.offline.snapshots.survey import Survey, survey
    from kpolicy.policy.compile import Compiled, compile_policy
    from kpolicy.policy.format.conversion import Converted, convert_policy
    from kpolicy.policy.format.reformat import Reformatted, reformat
    from kpolicy.policy.yaml.source import Source

__version__ = VERSION

_LAZY: Final = {
    **dict.fromkeys(("Diagnostic", "Place", "Severity", "Span"), "kpolicy.diagnostics"),
    "Diff": "kpolicy.offline.answers.differences",
    "Difference": "kpolicy.offline.answers.differences",
    "Evaluated": "kpolicy.offline.answers.evaluate",
    "Explained": "kpolicy.offline.answers.pod_decisions",
    "Header": "kpolicy.offline.snapshot_file.reader",
    "InputPlan": "kpolicy.offline.plan.plan_model",
    "Measured": "kpolicy.offline.bench.measure",
    "Origin": "kpolicy.offline.snapshot_file.reader",
    "Plan": "kpolicy.offline.plan.plan_model",
    "PlanOptions": "kpolicy.offline.plan.snapshot_plan",
    "PolicyRefusedError": "kpolicy.offline.snapshots.cluster_snapshot",
    "PolicyTestRun": "kpolicy.offline.policy_tests.results",
    "Problem": "kpolicy.offline.snapshots.snapshot_problem",
    "SimulatedPod": "kpolicy.offline.answers.pod_decisions",
    "Simulation": "kpolicy.offline.answers.pod_decisions",
    "Size": "kpolicy.offline.bench.generated_cluster",
    "Snapshot": "kpolicy.offline.snapshots.cluster_snapshot",
    "Survey": "kpolicy.offline.snapshots.survey",
    "diff": "kpolicy.offline.answers.policy_diff",
    "evaluate": "kpolicy.offline.answers.evaluate",
    "explain": "kpolicy.offline.answers.pod_decisions",
    "journal_plan": "kpolicy.offline.plan.journal_plan",
    "measure": "kpolicy.offline.bench.measure",
    "read_journal": "kpolicy.offline.journal_replay.journal_input",
    "redact": "kpolicy.offline.redaction.redact",
    "replay": "kpolicy.offline.journal_replay.whole_journal",
    "replay_with": "kpolicy.offline.journal_replay.whole_journal",
    "run_tests": "kpolicy.offline.policy_tests.session",
    "simulate": "kpolicy.offline.answers.pod_decisions",
    "snapshot_plan": "kpolicy.offline.plan.snapshot_plan",
    "survey": "kpolicy.offline.snapshots.survey",
    "write_snapshot": "kpolicy.offline.snapshot_file.writer",
    "Compiled": "kpolicy.policy.compile",
    "Program": "kpolicy.policy.assembly.assemble",
    "Reformatted": "kpolicy.policy.format.reformat",
    "Source": "kpolicy.policy.yaml.source",
    "Converted": "kpolicy.policy.format.conversion",
    "compile_policy": "kpolicy.policy.compile",
    "convert_policy": "kpolicy.policy.format.conversion",
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
    "InputPlan",
    "Measured",
    "Origin",
    "Place",
    "Plan",
    "PlanOptions",
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
    "journal_plan",
    "measure",
    "read_journal",
    "redact",
    "reformat",
    "replay",
    "replay_with",
    "run_tests",
    "simulate",
    "snapshot_plan",
    "survey",
    "write_snapshot",
]


def __getattr__(name: str) -> Any:
    module = _LAZY.get(name)
    if module is None:
        raise AttributeError(f"module 'kpolicy' has no attribute '{name}'")
    from importlib import import_module  # noqa: PLC0415

    return getattr(import_module(module), name)
