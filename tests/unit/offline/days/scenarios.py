"""Runs scenarios that a test writes out."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from kpolicy.offline.days.figures import DaysResult
from kpolicy.offline.days.read_scenario import ReadScenario, read_scenario
from kpolicy.offline.days.scenario_course import ScenarioCourse, course_of, read_inputs
from kpolicy.offline.days.virtual_days import run_days
from kpolicy.offline.snapshots.cluster_snapshot import default_program
from kpolicy.policy.assembly.assemble import Program
from kpolicy.policy.compile import compile_policy
from kpolicy.policy.yaml.source import Source

NODE = {"name": "n", "allocatable": {"cpu": 1, "memory": "4Gi"}}
POD = {"name": "p", "requests": {"cpu": 1}, "lifetime": "30m"}


def document(**fields: Any) -> str:
    head = {"apiVersion": "kpolicy.dev/v1alpha1", "kind": "Scenario", "metadata": {"name": "s"}}
    usual = {"duration": "4h", "sampleEvery": "1m", "nodes": [NODE], "pods": [POD]}
    return json.dumps({**head, **usual, **fields}, indent=1)


def read(text: str, folder: Path | None = None) -> ReadScenario:
    return read_scenario(Source(str((folder or Path()) / "s.yaml"), text.encode()))


def course(folder: Path | None = None, **fields: Any) -> ScenarioCourse:
    file = read(document(**fields), folder).file
    assert file is not None
    inputs = read_inputs(file)
    assert not hasattr(inputs, "code"), inputs
    made = course_of(file, file.model, inputs)
    assert isinstance(made, ScenarioCourse), made
    return made


def run(program: Program | None = None, *, seed: int = 0, **fields: Any) -> DaysResult:
    return run_days(course(**fields), program or default_program(), seed=seed)


def policy(**spec: Any) -> Program:
    text = json.dumps(
        {
            "apiVersion": "kpolicy.dev/v1alpha1",
            "kind": "SchedulingPolicy",
            "metadata": {"name": "test"},
            "spec": {"profiles": [{"schedulerName": "kpolicy"}], **spec},
        }
    )
    compiled = compile_policy([Source("policy.yaml", text.encode())])
    assert compiled.program is not None, compiled.diagnostics
    return compiled.program
