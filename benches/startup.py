"""Measures how long a person waits for the command line to start, for the findings of a file with
fifty rules, and for whole commands: these beside the import of pydantic, which they all need.

Each figure comes from several new processes: the minimum and the median, because other work on the
machine only adds time, and the processor time of the fastest. Every module is compiled beforehand,
as `pip` does for an installed package.
"""

from __future__ import annotations

import json
import os
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from kpolicy.offline.reports.columns import columns

RULES: Final = 50
_SUITE: Final = str(Path(__file__).parents[1] / "policies" / "demo.test.yaml")
_RUNS: Final = 7
# The design's limits in milliseconds; printed beside the measured times.
_ALLOWED_MS: Final = {"import of the command line": 250, "lint of 50 rules, first": 150}
_RATIO: Final = "100.0 * ratio(node.requested('memory'), node.allocatable('memory'))"
_LINT: Final = """\
import json, sys, time
source = sys.stdin.read()
def now():
    return time.perf_counter(), time.process_time()
begin = now()
from kpolicy.cli.findings_text import Findings, full
from kpolicy.policy.compile import compile_policy
from kpolicy.policy.yaml.source import Source
imported = now()
times = [(begin, imported)]
for _ in range(5):
    start = now()
    sources = [Source("policy.yaml", source)]
    compiled = compile_policy(sources)
    assert compiled.program is not None, compiled.diagnostics
    full(Findings.of(compiled.diagnostics, sources))
    times.append((start, now()))
print(json.dumps([[end[0] - start[0], end[1] - start[1]] for start, end in times]))
"""
_IMPORT: Final = """\
import json, time
wall, cpu = time.perf_counter(), time.process_time()
import kpolicy.cli
print(json.dumps([time.perf_counter() - wall, time.process_time() - cpu]))
"""


@dataclass(frozen=True, slots=True)
class Waited:
    """Milliseconds of waiting, and of processor time."""

    what: str
    least: float
    median: float
    processor: float
    # How many imports of pydantic the processor time is; 0 if that is not compared.
    times_pydantic: float = 0.0

    def line(self) -> dict[str, object]:
        line: dict[str, object] = {
            "what": self.what,
            "leastMs": round(self.least, 1),
            "medianMs": round(self.median, 1),
            "processorMs": round(self.processor, 1),
        }
        if self.times_pydantic:
            line["timesPydantic"] = round(self.times_pydantic, 1)
        if self.what in _ALLOWED_MS:
            line["allowedMs"] = _ALLOWED_MS[self.what]
        return line


def measure(runs: int = _RUNS) -> list[Waited]:
    source = policy(RULES)
    with TemporaryDirectory() as folder:
        environment = {**os.environ, "PYTHONPYCACHEPREFIX": folder}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        rounds = range(runs)
        _fresh(_LINT, environment, source)  # compiles
        imports = [json.loads(_fresh(_IMPORT, environment)) for _ in rounds]
        lints = [json.loads(_fresh(_LINT, environment, source)) for _ in rounds]
        return [
            _waited("import of the command line", imports),
            _waited("import of what lint needs", [lint[0] for lint in lints]),
            _waited("lint of 50 rules, first", [lint[1] for lint in lints]),
            _waited("lint of 50 rules, again", [min(lint[2:]) for lint in lints]),
            *_whole_commands(runs, environment),
        ]


def _whole_commands(runs: int, environment: Mapping[str, str]) -> list[Waited]:
    """Whole processes, those of one round one after the other."""
    commands = {
        "pydantic, imported": ("-c", "from pydantic import BaseModel"),
        "kpolicy lint of a file": ("-m", "kpolicy", "lint", "--isolated", "demo"),
        "kpolicy test of a small suite": ("-m", "kpolicy", "test", _SUITE),
    }
    for arguments in commands.values():
        _process(arguments, environment)  # compiles
    rounds = [
        [_process(arguments, environment) for arguments in commands.values()] for _ in range(runs)
    ]
    waited = [
        _waited(what, [each[index] for each in rounds]) for index, what in enumerate(commands)
    ]
    pydantic, *others = waited
    return [
        pydantic,
        *(replace(w, times_pydantic=w.processor / max(pydantic.processor, 1e-3)) for w in others),
    ]


def _process(arguments: Sequence[str], environment: Mapping[str, str]) -> tuple[float, float]:
    """Seconds of waiting, and of processor time, of a new process."""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    command = [sys.executable, *arguments]
    subprocess.run(command, capture_output=True, check=True, env=environment)
    waited = time.perf_counter() - began
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return waited, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def _waited(what: str, seconds: Sequence[Sequence[float]]) -> Waited:
    clock, processor = ([1000 * second[at] for second in seconds] for at in (0, 1))
    return Waited(what, min(clock), statistics.median(clock), min(processor))


def _fresh(code: str, environment: Mapping[str, str], stdin: str = "") -> str:
    done = subprocess.run(
        [sys.executable, "-c", code],
        input=stdin,
        capture_output=True,
        text=True,
        check=True,
        env=environment,
    )
    return done.stdout


def policy(rules: int) -> str:
    """Half predicates and half priorities, each of some length, no two alike."""
    lines = [
        "apiVersion: kpolicy.dev/v1alpha1",
        "kind: SchedulingPolicy",
        "metadata: {name: fifty}",
        "spec:",
        "  profiles: [{schedulerName: kpolicy}]",
        "  predicates:",
    ]
    for number in range(rules // 2):
        lines += [
            f"    - name: rule-{number}",
            "      expression: |",
            f"        !('pool-{number}' in node.labels)",
            f"          || node.labels['pool-{number}'] == label(pod, 'team')",
            f"          || (pod.priority >= {number} && node.free('cpu') > cpu('{number}00m'))",
            f"      message: pool {number} is another team's",
        ]
    lines.append("  priorities:")
    for number in range(rules - rules // 2):
        lines += [
            f"    - name: score-{number}",
            f"      weight: {number + 1}",
            f"      expression: \"label(node, 'zone') == 'z{number}' ? {_RATIO} : 0.0\"",
        ]
    return "\n".join(lines) + "\n"


def table(waited: Sequence[Waited]) -> list[str]:
    rows = [["", "least", "median", "processor", "× pydantic", "allowed"]]
    for wait in waited:
        figures = [f"{value:.1f} ms" for value in (wait.least, wait.median, wait.processor)]
        allowed = _ALLOWED_MS.get(wait.what)
        ratio = f"{wait.times_pydantic:.1f}" if wait.times_pydantic else ""
        rows.append([wait.what, *figures, ratio, f"{allowed} ms" if allowed else ""])
    return columns(rows, right=(1, 2, 3, 4, 5))
