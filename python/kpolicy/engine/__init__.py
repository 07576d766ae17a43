"""The engine for Python: the answers of `kpolicy._engine`, whose flat tuples get names here.

An `Engine` holds one cluster's snapshot and one program. Feed it lists and watches (or files), load
a program, ask it to `schedule` pods, and `settle` what became of each bind. Every method may be
called from any thread; long ones let other threads run. What a user can get wrong comes back as a
value; a resource that the engine does not read and an unknown outcome are `ValueError`s, and
`EngineFault` is a bug of ours, after which that engine cannot be used again.
"""

from __future__ import annotations

from kpolicy.engine.compiled import (
    Engine as Engine,
    EngineFault as EngineFault,
    PodResources as PodResources,
    RecordedCalls as RecordedCalls,
    arguments_json as arguments_json,
    built_ins as built_ins,
    decisions_json as decisions_json,
    evaluate_expression as evaluate_expression,
    evaluation_plan as evaluation_plan,
    expression_facts as expression_facts,
    feature_gates as feature_gates,
    make_calls as make_calls,
    object_kinds as object_kinds,
    read_calls as read_calls,
    releases as releases,
    time_zones as time_zones,
    version as version,
)
from kpolicy.engine.made_calls import (
    Disagreement as Disagreement,
    KeptDifferences as KeptDifferences,
    MadeCalls as MadeCalls,
    OtherBinds as OtherBinds,
)
from kpolicy.engine.named_answers import (
    Applied as Applied,
    AwaitedVolume as AwaitedVolume,
    BoundAnnotation as BoundAnnotation,
    CandidateNode as CandidateNode,
    Candidates as Candidates,
    ClaimRelease as ClaimRelease,
    ClaimWork as ClaimWork,
    Decision as Decision,
    Filtered as Filtered,
    HeldPod as HeldPod,
    JudgedNodes as JudgedNodes,
    KeptNode as KeptNode,
    Labelled as Labelled,
    Located as Located,
    NextPods as NextPods,
    Outcome as Outcome,
    PodChange as PodChange,
    PodState as PodState,
    PreBindWrite as PreBindWrite,
    QueueFault as QueueFault,
    Refusal as Refusal,
    RefusedNode as RefusedNode,
    RemainingCandidate as RemainingCandidate,
    RemainingCandidates as RemainingCandidates,
    Scheduled as Scheduled,
    ScheduledUnit as ScheduledUnit,
    Series as Series,
    TimePassed as TimePassed,
    Timings as Timings,
    Unreadable as Unreadable,
    Verdict as Verdict,
    Victim as Victim,
    VolumeProgress as VolumeProgress,
    VolumeState as VolumeState,
    VolumeWork as VolumeWork,
    WaitingPod as WaitingPod,
    Wake as Wake,
)
from kpolicy.engine.opinions import Opinion as Opinion
