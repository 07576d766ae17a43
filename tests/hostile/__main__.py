"""`python -m tests.hostile`: compile the policies and the selectors of devices that are kept again.

With `--tries 400 --out FILE`: write others, which the engine's test `hostile` tries too if the
environment says `KPOLICY_HOSTILE_POLICIES=FILE`.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Final

from tests.hostile import selectors
from tests.hostile.policies import COMPILED, ERRING_SEEDS, SEEDS, WIDE_SEEDS, compiled, policies

# The seeds of one search, so that another search tries others.
SEEDS_A_SEARCH: Final = 1_000_000

parser = argparse.ArgumentParser(prog="python -m tests.hostile", description=__doc__)
parser.add_argument("--tries", type=int, default=0)
parser.add_argument("--search", type=int, default=1)
parser.add_argument("--out", type=Path, default=COMPILED)
arguments = parser.parse_args()
first = arguments.search * SEEDS_A_SEARCH
seeds = range(first, first + arguments.tries) if arguments.tries else None
accepted = policies(seeds or SEEDS, seeds or WIDE_SEEDS, seeds or ERRING_SEEDS)
arguments.out.parent.mkdir(parents=True, exist_ok=True)
arguments.out.write_text(compiled(accepted))
if not arguments.tries:
    selectors.COMPILED.write_text(selectors.compiled())
print(f"{len(accepted)} policies compile: {arguments.out}")
