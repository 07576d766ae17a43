"""`python -m tests.attack [NAME]…`: run attacks by name, all by default, and print figures.

Exit 1 if a promise did not hold. Needs `make release` and `make control-plane`.
"""

from __future__ import annotations

import argparse
import sys

from tests.attack.attacks import attacks
from tests.attack.report import run_all

known = attacks()
parser = argparse.ArgumentParser(prog="python -m tests.attack", description=__doc__)
parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(known))
arguments = parser.parse_args()
if unknown := [name for name in arguments.names if name not in known]:
    parser.error(f"no attack {unknown[0]!r}: there are {', '.join(known)}")
sys.exit(1 if run_all(known[name] for name in arguments.names or known) else 0)
