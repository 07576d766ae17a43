"""Policies whose profiles have different names, made to serve the same pods.

Two names that are matched are names of one scheduler: a policy that serves one of them also serves
the pods that name the other.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace

from kpolicy.policy.assembly.assemble import Program, canonical

Names = tuple[str, str]


def matched(program: Program, names: Sequence[Names]) -> Program:
    """A policy with both names, or with neither, stays as it is."""
    for first, second in names:
        served = program.scheduler_names
        if first in served and second not in served:
            program = _serving_also(program, first, second)
        elif second in served and first not in served:
            program = _serving_also(program, second, first)
    return program


def _serving_also(program: Program, name: str, also: str) -> Program:
    document = json.loads(program.bytes)
    profiles = document["profiles"]
    [profile] = (each for each in profiles if each["schedulerName"] == name)
    document["profiles"] = [*profiles, {**profile, "schedulerName": also}]
    [shell] = (each for each in program.profiles if each.scheduler_name == name)
    shells = (*program.profiles, replace(shell, scheduler_name=also))
    return replace(program, bytes=canonical(document), profiles=shells)
