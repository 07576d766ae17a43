"""Runs kube-scheduler's cycle on a cluster in a file: starts the Go program, reads its output."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from benches.peer.timing import Timing

# The default of percentageOfNodesToScore: the more nodes, the smaller the percentage.
SAMPLED: Final = 0
ALL_NODES: Final = 100
# Reading 100,000 nodes takes a minute; a run that takes longer than this and its budget hangs.
RUN_S_MAX: Final = 600.0
# Variables that change Go's collector and threads. kube-scheduler runs with its defaults.
_NOT_HANDED_ON: Final = frozenset({"GOGC", "GOMEMLIMIT", "GOMAXPROCS", "GODEBUG"})


class KubeSchedulerError(RuntimeError):
    """The Go program failed; the message has its last words."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What its plugins answer for one pod (`totals`: the nodes that pass all filters, with their
    scores) and what the cycle did; a pod that found no node has a `message`. `claims` are its
    claims on devices after the bind."""

    pod: str
    totals: Mapping[str, int]
    node: str
    nominated: str
    message: str
    claims: tuple[dict[str, Any], ...] = ()


def timed(binary: Path, world: Path, percentage: int, budget_s: float) -> Timing:
    """Times the pods that it decides within the budget."""
    output = _run(binary, world, percentage, "-budget", f"{budget_s}s")
    return Timing(output["scheduled"], tuple(output["cycleNs"]), output["cpuNs"])


def answers(binary: Path, world: Path) -> list[Answer]:
    """The answers for all pods, with all nodes examined."""
    return _answers(_run(binary, world, ALL_NODES, "-answers"))


def sampled_answers(binary: Path, world: Path) -> list[Answer]:
    """The answers for all pods, each with the nodes that its cycle found before it ended. One node
    is filtered at a time, so that these do not depend on chance."""
    return _answers(_run(binary, world, SAMPLED, "-answers", "-parallelism", "1"))


def _answers(output: dict[str, Any]) -> list[Answer]:
    return [
        Answer(
            answer["pod"],
            answer["totals"],
            answer.get("node", ""),
            answer.get("nominated", ""),
            answer.get("message", ""),
            tuple(answer.get("claims", ())),
        )
        for answer in output["answers"] or ()
    ]


def _run(binary: Path, world: Path, percentage: int, *more: str) -> dict[str, Any]:
    words = [str(binary), "-world", str(world), "-percentage", str(percentage), *more]
    environment = {key: value for key, value in os.environ.items() if key not in _NOT_HANDED_ON}
    try:
        ended = subprocess.run(
            words, check=False, capture_output=True, text=True, env=environment, timeout=RUN_S_MAX
        )
    except subprocess.TimeoutExpired as late:
        raise KubeSchedulerError(f"{binary.name} did not end in {RUN_S_MAX:.0f} s") from late
    if ended.returncode != 0:
        last = "\n".join(ended.stderr.splitlines()[-8:])
        raise KubeSchedulerError(f"{binary.name} ended with {ended.returncode}:\n{last}")
    output: dict[str, Any] = json.loads(ended.stdout)
    return output
