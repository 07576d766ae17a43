"""`python -m tests.fuzz policy --seconds 60`: mutated policies against every promise; `fmt` instead
of `policy`: against those of laying out.

An input that breaks one is written to `--found` (default: build/fuzz), and ends the run with 1;
`--keep FOLDER` writes inputs whose findings no input before had together.
"""

from __future__ import annotations

import argparse
import hashlib
import signal
import sys
import time
import traceback
from pathlib import Path
from random import Random
from types import FrameType
from typing import Final

from tests.fuzz import fmt_target, policy_target
from tests.fuzz.mutations import mutated

ROOT: Final = Path(__file__).parents[2]
CORPORA: Final = (
    Path(__file__).parent / "corpus",
    ROOT / "tests" / "spec" / "lint" / "corpus",
    ROOT / "python" / "kpolicy" / "policies",
    ROOT / "policies",
)
TARGETS: Final = {"policy": policy_target.check, "fmt": fmt_target.check}
# Longer than any input takes, on a busy machine too.
SECONDS_AN_INPUT: Final = 30


class TooSlowError(Exception):
    """An input that takes far too long."""


def seeds() -> list[bytes]:
    files = sorted(
        path
        for corpus in CORPORA
        if corpus.is_dir()
        for path in corpus.rglob("*")
        if path.is_file() and path.name != "expected.json" and path.stat().st_size < 32 * 1024
    )
    assert len(files) >= 75, "the folder of the corpora has moved"
    return [path.read_bytes() for path in files]


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("target", choices=tuple(TARGETS))
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--found", type=Path, default=ROOT / "build" / "fuzz")
    parser.add_argument("--keep", type=Path)
    args = parser.parse_args(arguments)
    signal.signal(signal.SIGALRM, _too_slow)
    return _run(args, Random(args.seed))


def _too_slow(_: int, __: FrameType | None) -> None:
    raise TooSlowError(f"more than {SECONDS_AN_INPUT} s")


def _run(args: argparse.Namespace, chance: Random) -> int:
    check = TARGETS[args.target]
    pool = seeds()
    seen = {check(data) for data in pool}
    started, inputs, slowest, broken = time.monotonic(), 0, 0.0, 0
    while time.monotonic() - started < args.seconds:
        data = mutated(chance, pool)
        begun = time.monotonic()
        signal.alarm(SECONDS_AN_INPUT)
        try:
            found = check(data)
        except Exception:
            broken += 1
            _written(args.found, data)
            traceback.print_exc()
            continue
        finally:
            signal.alarm(0)
        inputs += 1
        slowest = max(slowest, time.monotonic() - begun)
        if found not in seen:
            seen.add(found)
            pool.append(data)
            if args.keep is not None:
                _written(args.keep, data)
    print(
        f"seed {args.seed}: {inputs:,} inputs, {len(seen):,} kinds of findings, slowest "
        f"{slowest * 1000:,.0f} ms, {broken} broken"
    )
    return 1 if broken else 0


def _written(folder: Path, data: bytes) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / hashlib.sha256(data).hexdigest()[:16]
    path.write_bytes(data)
    print(f"{path}: {len(data)} bytes", file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
