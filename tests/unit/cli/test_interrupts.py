"""Ctrl-C wherever it comes: 130, and no traceback."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from tests.tree.sources import ROOT

ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT / "python")}

# A verb that is interrupted at a place where Python cannot pass KeyboardInterrupt on.
PLACES = {
    "a module that is loaded": "import interrupted",
    "a destructor": "class Gone:\n    def __del__(self): press()\nGone()\ntime.sleep(60)",
    "what exec runs": "press()",
    "code that makes another error of it": (
        "try:\n    press()\nexcept KeyboardInterrupt:\n    raise ValueError('a validator')"
    ),
}
PROCESS = """
import os, signal, sys, time, types
# A test run in the background ignores SIGINT, and so would its children.
signal.signal(signal.SIGINT, signal.default_int_handler)
from kpolicy import __main__ as process
from kpolicy.cli.verb import Verb

def press():
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(60)

place = sys.argv.pop()
module = types.ModuleType("kpolicy.cli.verbs.rule")
module.RULE = Verb("rule", "", lambda _: exec(place, globals()) or 0)
sys.modules[module.__name__] = module
sys.exit(process.main())
"""
# What a callback of the import system or pydantic does of KeyboardInterrupt.
MODULE = """
import os, signal, time
try:
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(60)
except KeyboardInterrupt:
    raise ValueError("no schema")
"""


@pytest.mark.parametrize("place", PLACES.values(), ids=PLACES)
def test_ctrl_c_ends_the_process_wherever_it_comes(place: str, tmp_path: Path) -> None:
    (tmp_path / "interrupted.py").write_text(MODULE)
    path = f"{ENVIRONMENT['PYTHONPATH']}:{tmp_path}"
    done = subprocess.run(
        [sys.executable, "-c", PROCESS, "rule", place],
        capture_output=True,
        text=True,
        check=False,
        timeout=50,
        env={**ENVIRONMENT, "PYTHONPATH": path},
    )
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")


# Some before kpolicy.cli, some after; before all of these are only `signal` and what it needs.
@pytest.mark.parametrize("module", ["gc", "typing", "threading", "kpolicy.cli", "pathlib"])
def test_ctrl_c_is_heard_before_other_modules_load(module: str) -> None:
    code = f"""
import os, signal, sys, time
signal.signal(signal.SIGINT, signal.default_int_handler)

class Press:
    def find_spec(self, name, path=None, target=None):
        if name == {module!r}:
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(60)

assert {module!r} not in sys.modules
sys.meta_path.insert(0, Press())
from kpolicy.__main__ import main
sys.exit(main())
"""
    done = subprocess.run(
        [sys.executable, "-S", "-c", code, "version"],
        capture_output=True,
        text=True,
        check=False,
        timeout=50,
        env=ENVIRONMENT,
    )
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")


def test_processes_of_test_print_nothing_at_ctrl_c(tmp_path: Path) -> None:
    examples = ROOT / "docs" / "examples"
    (tmp_path / "gpu.yaml").write_text((examples / "gpu.yaml").read_text())
    for number in range(8):
        suite = (examples / "gpu.test.yaml").read_text()
        (tmp_path / f"{number}.test.yaml").write_text(suite)
    code = (
        "import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler); "
        "from kpolicy.__main__ import main; sys.exit(main())"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code, "test", "--jobs", "2", "."],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=ENVIRONMENT,
        cwd=tmp_path,
        start_new_session=True,
    )
    # Not before Python has its handler in one of them: pydantic is loaded after it.
    while not any("pydantic_core" in maps for maps in _maps_of_processes(process.pid)):
        time.sleep(0.001)
    os.killpg(process.pid, signal.SIGINT)
    _, error = process.communicate(timeout=60)
    assert (process.returncode, error) == (130, "")


def _maps_of_processes(pid: int) -> Iterator[str]:
    """The files that are loaded in each child that runs a program of its own by now."""
    for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
        with suppress(OSError):
            if "spawn_main" in Path(f"/proc/{child}/cmdline").read_text():
                yield Path(f"/proc/{child}/maps").read_text()
