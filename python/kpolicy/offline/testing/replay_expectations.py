"""What is expected of a replay, against what came of it.

Owns what `placed`, `changedFromRecorded`, `p99CycleMicros` and `never` mean. Assumes a replay that
has ended, and the engine that holds its end. Must not know how a mismatch is shown.
"""

from __future__ import annotations

from collections.abc import Iterator

from kpolicy.engine import Engine
from kpolicy.offline.testing import never
from kpolicy.offline.testing.limits import PODS_NAMED_MAX
from kpolicy.offline.testing.matching import plain_number
from kpolicy.offline.testing.model import Expectation, ShareRange
from kpolicy.offline.testing.replay import Replayed, percent
from kpolicy.offline.testing.results import Mismatch


def compare_replay(expect: Expectation, got: Replayed, engine: Engine) -> Iterator[Mismatch]:
    """What does not hold."""
    if expect.placed is not None:
        yield from _share("placed", expect.placed, got.placed, len(got.pods))
    if expect.changed_from_recorded is not None:
        yield from _share(
            "changedFromRecorded", expect.changed_from_recorded, got.changed, got.recorded
        )
    slow = expect.p99_cycle_micros
    if slow is not None and got.p99_cycle_micros > slow.at_most:
        wanted = f"at most {plain_number(slow.at_most)}"
        have = f"{got.p99_cycle_micros:,.0f}"
        yield Mismatch("p99CycleMicros", wanted, have, is_soft=slow.soft)
    if expect.never is not None:
        yield from _never(expect.never, got, engine)


def _share(what: str, wanted: ShareRange, part: int, whole: int) -> Iterator[Mismatch]:
    bounds = (("at least", wanted.at_least, 1), ("at most", wanted.at_most, -1))
    for words, bound, sign in bounds:
        if bound is None:
            continue
        in_percent = isinstance(bound, str)
        have = percent(part, whole) if in_percent else float(part)
        limit = float(bound.removesuffix("%")) if isinstance(bound, str) else float(bound)
        if (have - limit) * sign < 0:
            shown = f"{limit:g} %" if in_percent else f"{limit:g} pods"
            got = f"{percent(part, whole):.1f} %: {part:,} of {whole:,} pods"
            yield Mismatch(what, f"{words} {shown}", got, is_soft=wanted.soft)


def _never(text: str, got: Replayed, engine: Engine) -> Iterator[Mismatch]:
    expression = never.compiled(text)
    broken: list[str] = []
    for one in got.pods:
        if not one.node:
            continue
        decision = {"score": one.score, "recordedNode": one.recorded}
        answer = expression.is_true(engine, one.pod, one.node, decision)
        if isinstance(answer, str):
            broken.append(f"{one.pod} on {one.node} ({answer})")
        elif answer:
            broken.append(f"{one.pod} on {one.node}")
    if broken:
        more = len(broken) - PODS_NAMED_MAX
        listed = ", ".join(broken[:PODS_NAMED_MAX]) + (f" and {more:,} more" if more > 0 else "")
        yield Mismatch("never", " ".join(text.split()), listed)
