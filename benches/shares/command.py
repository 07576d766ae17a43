"""`python -m benches shares`: simulates arrivals, draws the shares of tenants, checks the error."""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from benches.shares.picture import picture
from benches.shares.week import TENANTS, Setting, Shares, Week
from kpolicy.policy.compile import compile_policy, shipped_source

PICTURE: Final = Path(__file__).parents[2] / "docs" / "policies" / "fair-share.svg"
_FAILED: Final = 1


def run(setting: Setting) -> Shares:
    weights = {tenant.name: tenant.weight for tenant in setting.tenants}
    program = compile_policy([shipped_source("fair-share")], params={"weights": weights}).program
    assert program is not None, "the policy comes with kpolicy"
    return Week(program, setting).run()


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m benches shares",
        description="Simulate days of arrivals under the policy fair-share, and compare what each "
        "tenant had with what is fair.",
        epilog="exit: 0 simulated, 1 the error is larger than --expect",
    )
    parser.add_argument("--days", type=float, default=Setting().days)
    parser.add_argument("--seed", type=int, default=Setting().seed)
    parser.add_argument(
        "--expect", type=float, default=0.01, metavar="E", help="the largest error (default: 0.01)"
    )
    parser.add_argument("--draw", action="store_true", help="write docs/policies/fair-share.svg")
    flags = parser.parse_args(arguments)
    shares = run(Setting(days=flags.days, seed=flags.seed))
    print(json.dumps(shares.line()))
    if flags.draw:
        hours = ", ".join(
            f"{tenant.name} (weight {tenant.weight:g}) works {tenant.hours[0]} to {tenant.hours[1]}"
            for tenant in TENANTS
        )
        about = f"{hours} o'clock; {shares.placed:,} pods; largest error {shares.error:.2%}"
        title = "Shares of a cluster under fair-share"
        PICTURE.write_text(picture(shares, title, about), "utf-8")
        print(f"wrote {os.path.relpath(PICTURE)}")
    return _FAILED if shares.error > flags.expect else 0
