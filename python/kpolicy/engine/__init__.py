"""The engine for Python: the answers of `kpolicy._engine`, whose flat tuples get names here.

An `Engine` holds one cluster's snapshot and one program. Feed it lists and watches (or files), load
a program, ask it to `schedule` pods, and `settle` what became of each bind. Every method may be
called from any thread; long ones let other threads run. What a user can get wrong comes back as a
value; a resource that the engine does not read and an unknown outcome are `ValueError`s, and
`EngineFault` is a bug of ours, after which that engine cannot be used again.
"""

from __future__ import annotations

from kpolicy.engine.compiled import (
    Engine,
    EngineFault,
    built_ins,
    evaluate_expression,
    evaluation_plan,
    expression_facts,
    object_kinds,
    version,
)
from kpolicy.engine.named_answers import (
    Applied,
    AwaitedVolume,
    CandidateNode,
    Candidates,
    Decision,
    Filtered,
    JudgedNodes,
    KeptNode,
    Located,
    Opinion,
    Outcome,
    PodChange,
    PodState,
    PreBindWrite,
    Refusal,
    RefusedNode,
    RejectedNodes,
    RemainingCandidate,
    RemainingCandidates,
    Scheduled,
    ScheduledUnit,
    Series,
    Timings,
    Unreadable,
    Verdict,
    Victim,
    VolumeProgress,
    VolumeState,
    VolumeWork,
    Wake,
)

__all__ = [
    "Applied",
    "AwaitedVolume",
    "CandidateNode",
    "Candidates",
    "Decision",
    "Engine",
    "EngineFault",
    "Filtered",
    "JudgedNodes",
    "KeptNode",
    "Located",
    "Opinion",
    "Outcome",
    "PodChange",
    "PodState",
    "PreBindWrite",
    "Refusal",
    "RefusedNode",
    "RejectedNodes",
    "RemainingCandidate",
    "RemainingCandidates",
    "Scheduled",
    "ScheduledUnit",
    "Series",
    "Timings",
    "Unreadable",
    "Verdict",
    "Victim",
    "VolumeProgress",
    "VolumeState",
    "VolumeWork",
    "Wake",
    "built_ins",
    "evaluate_expression",
    "evaluation_plan",
    "expression_facts",
    "object_kinds",
    "version",
]
