"""The demo's summary: what was placed, what is pending and why, how fast, how full.

Owns the closing text. Assumes the numbers are measured by whoever calls.
"""

from __future__ import annotations

from dataclasses import dataclass

from rich.console import Console

from kpolicy.demo.tally import Tally
from kpolicy.demo.view import kinds_table

REASONS_SHOWN = 6


@dataclass(frozen=True, slots=True)
class Measured:
    seconds: float
    decisions: int
    decision_seconds: float
    before_reload: Tally
    after_reload: Tally


def show(console: Console, measured: Measured) -> None:
    tally = measured.after_reload
    console.print()
    console.print(kinds_table(tally))
    console.print()
    rate = tally.placed / measured.seconds
    write(
        console,
        f"placed   {tally.placed:,} pods in {measured.seconds:.1f} s "
        f"({rate:,.0f} a second, API server included)",
    )
    write(console, f"pending  {tally.pending:,} pods, by reason:")
    reasons = sorted(tally.pending_by_reason.items(), key=lambda item: (-item[1], item[0]))
    for reason, count in reasons[:REASONS_SHOWN]:
        write(console, f"  {count:>5}  {reason}")
    if measured.decision_seconds > 0:
        rate = measured.decisions / measured.decision_seconds
        write(
            console,
            f"decided  {measured.decisions:,} times, "
            f"{rate:,.0f} decisions a second in the engine, every node scored",
        )
    used = ", ".join(f"{share:.0%} of {name}" for name, share in tally.utilisation.items())
    write(console, f"used     {used} (of the nodes that take pods)")


def write(console: Console, line: str) -> None:
    console.print(line, markup=False, highlight=False, soft_wrap=True)
