"""`python -m tests.simulation --seeds 1..500`: runs seeds and prints a report; exit code 1 when an
invariant does not hold.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections import Counter
from dataclasses import replace

from tests.simulation.kills import Kill, all_kills, killed_run, sweep_kills
from tests.simulation.shrink import fewest_acts
from tests.simulation.sweep import Outcome, Total, plan_of, simulated, sweep

VIOLATIONS_SHOWN_MAX = 8


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.simulation")
    which = parser.add_mutually_exclusive_group(required=True)
    which.add_argument("--seed", type=int, help="one run, with all it came to")
    which.add_argument("--seeds", metavar="A..B", help="from A to B, both included")
    which.add_argument("--kills", type=int, metavar="SEED", help="one story, killed at each write")
    parser.add_argument("--only", metavar="N:before|after", help="with --kills: one of them")
    parser.add_argument("--acts", type=int, help="with --seed: the nemesis stops after so many")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    arguments = parser.parse_args()
    if arguments.seed is not None:
        return run_seed(arguments.seed, arguments.acts)
    if arguments.kills is not None:
        return killed(arguments.kills, arguments.only, arguments.jobs)
    first, _, last = arguments.seeds.partition("..")
    return many(range(int(first), int(last or first) + 1), arguments.jobs)


def run_seed(seed: int, acts: int | None) -> int:
    plan = plan_of(seed)
    outcome = simulated(plan if acts is None else replace(plan, acts=acts))
    total = Total()
    total.add(outcome)
    report(total)
    print(f"history: sha256 {outcome.digest}")
    for violation in outcome.violations:
        print(violation)
    return 1 if outcome.violations else 0


def many(seeds: range, jobs: int) -> int:
    total = Total()
    for outcome in sweep(map(plan_of, seeds), jobs):
        total.add(outcome)
        if outcome.violations:
            failure(outcome)
    report(total)
    missing = total.missing()
    if missing:
        print(f"never came: {', '.join(missing)}")
    for outcome in total.failed[:1]:
        acts = fewest_acts(plan_of(outcome.seed))
        print(f"shrunk: python -m tests.simulation --seed {outcome.seed} --acts {acts}")
    return 1 if total.failed or missing else 0


def killed(seed: int, only: str | None, jobs: int) -> int:
    clean = killed_run(seed, None)
    for text in clean.wrong:
        print(f"without a kill: {text}")
    kills = [Kill.of(only)] if only else all_kills(clean)
    failed, at = 0, Counter[str]()
    for kill in sweep_kills(seed, kills, clean, jobs):
        at[kill.what] += 1
        if kill.wrong:
            failed += 1
            print(f"FAILED: python -m tests.simulation --kills {seed} --only {kill.kill}")
            for text in kill.wrong[:VIOLATIONS_SHOWN_MAX]:
                print(f"  {text}")
    shown = ", ".join(f"{what} {count}" for what, count in sorted(at.items()))
    print(f"killed {len(kills)} times, failed {failed}: {shown}")
    return 1 if failed or clean.wrong else 0


def failure(outcome: Outcome) -> None:
    print(f"FAILED: python -m tests.simulation --seed {outcome.seed}")
    for violation in outcome.violations[:VIOLATIONS_SHOWN_MAX]:
        print(f"  {violation}")
    if len(outcome.violations) > VIOLATIONS_SHOWN_MAX:
        print(f"  and {len(outcome.violations) - VIOLATIONS_SHOWN_MAX} more")
    sys.stdout.flush()


def report(total: Total) -> None:
    print(
        f"seeds {total.seeds}, failed {len(total.failed)}, pods {total.steps['create pod']},"
        f" binds {total.binds}, requests {total.requests},"
        f" virtual hours {total.virtual_s / 3600:.1f}"
    )
    for what, counts in (
        ("faults", total.faults),
        ("changes", total.steps),
        ("ends of processes", total.ends),
    ):
        shown = ", ".join(f"{name} {count}" for name, count in sorted(counts.items()))
        print(f"{what} {sum(counts.values())}: {shown or 'none'}")


if __name__ == "__main__":
    sys.exit(main())
