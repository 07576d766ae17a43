"""`python -m build.first_changes`: does what a new contributor does first, and prints the times.

It clones this repository into a temporary folder, then builds it and makes a change in Python, in
Rust and in a page, each checked by the command of CONTRIBUTING.md. With `--tests` it also runs
`make test` twice: first when no Rust test is built, then after a change in Python.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[1]


@dataclass(frozen=True, slots=True)
class Step:
    """A file to which a line is added, if any, and the command that comes after it."""

    title: str
    command: str
    file: str = ""
    line: str = ""


FIRST: Final = (
    Step("clone", f"git clone -q {ROOT} ."),
    Step("build", "make dev"),
    Step("Python", "make quick", "python/kpolicy/diagnostics.py", "\n\n# A first change."),
    Step("Rust", "make quick", "rust/kpolicy-cel/src/prices.rs", "// A first change."),
    Step("a page", "make py T=tests/docs", "docs/extenders.md", "A first change."),
)
TESTS: Final = (
    Step("all tests, cold", "make test"),
    Step("all tests, warm", "make test", "python/kpolicy/diagnostics.py", "# A second change."),
)


def processor_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def take(step: Step, folder: Path) -> bool:
    """Prints one row: the step, its times and its command."""
    if step.file:
        with (folder / step.file).open("a") as file:
            file.write(f"{step.line}\n")
    began, used = time.monotonic(), processor_seconds()
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(
        ["bash", "-c", step.command],
        check=False,
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
    )
    took, used = time.monotonic() - began, processor_seconds() - used
    print(f"{step.title:16} {took:7.1f} s {used:7.1f} s  {step.command}", flush=True)
    if done.returncode != 0:
        print(done.stdout[-4000:], done.stderr[-4000:], sep="\n")
        return False
    if step.file:
        subprocess.run(["git", "commit", "-qam", step.title], cwd=folder, check=True)
    return True


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m build.first_changes", description=__doc__)
    parser.add_argument("--tests", action="store_true", help="run make test, cold and warm, too")
    steps = FIRST + (TESTS if parser.parse_args().tests else ())
    print(f"{os.cpu_count()} processors\n{'step':16} {'time':>9} {'processor':>9}  command")
    with tempfile.TemporaryDirectory() as name:
        return 0 if all(take(step, Path(name)) for step in steps) else 1


if __name__ == "__main__":
    sys.exit(main())
