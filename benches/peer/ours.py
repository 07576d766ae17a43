"""Runs kpolicy's engine on a cluster in a file. `kpolicy.offline.bench` does the timing."""

from __future__ import annotations

import time
from pathlib import Path

from benches.peer.build import MODULE
from benches.peer.theirs import SAMPLED
from benches.peer.timing import Timing
from kpolicy.engine import Engine
from kpolicy.offline.bench.generated_cluster import uid
from kpolicy.offline.bench.measure import decide
from kpolicy.offline.snapshots.cluster_snapshot import PolicyRefusedError, default_program
from kpolicy.policy.assembly.assemble import Program
from kpolicy.policy.compile import compile_policy

# Both decide as the same release.
KUBERNETES = MODULE.required("k8s.io/kubernetes")


def engine_of(world: Path, *, seed: int = 0, program: Program | None = None) -> Engine:
    """An engine with the cluster of the file and kube-scheduler's default policy, or another."""
    engine = Engine(seed)
    refusals = engine.load((program or default_program(KUBERNETES)).bytes)
    if refusals:
        raise PolicyRefusedError(refusals)
    unreadable = engine.load_objects(world.read_bytes(), world.name)
    assert not unreadable, unreadable[:1]
    return engine


def sampling_program() -> Program:
    """kube-scheduler's default policy, with as few nodes scored as by default there."""
    policy = f"""\
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles: [{{schedulerName: default-scheduler, percentageOfNodesToScore: {SAMPLED}}}]
"""
    compiled = compile_policy(policy, every_pod=True, cluster_version=KUBERNETES)
    assert compiled.program is not None, compiled.diagnostics
    return compiled.program


def timed(world: Path, pods: int, *, seed: int = 0) -> Timing:
    engine = engine_of(world, seed=seed)
    began_ns = time.process_time_ns()
    decided = decide(engine, [uid(index) for index in range(pods)])
    cpu_ns = time.process_time_ns() - began_ns
    return Timing(decided.scheduled, decided.each_ns, cpu_ns)
