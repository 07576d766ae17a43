"""What is wrong with a Scenario whose fields are right one by one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from kpolicy.api_times import NANOSECONDS
from kpolicy.diagnostics import did_you_mean
from kpolicy.offline.days.durations import read_duration
from kpolicy.offline.days.scenario_model import Scenario, names
from kpolicy.offline.limits import ARRIVALS_MAX, SAMPLES_DEFAULT, SAMPLES_MAX
from kpolicy.policy.yaml.nodes import Path

_HOUR_NS: Final = 3_600 * NANOSECONDS


class Problem(NamedTuple):
    """What is wrong with a scenario, at a path in it."""

    code: str
    path: Path
    message: str
    hint: str = ""


def sample_ns(model: Scenario) -> int:
    if model.sample_every is not None:
        return read_duration(model.sample_every) or NANOSECONDS
    whole = (read_duration(model.duration) or 0) // SAMPLES_DEFAULT
    return max(NANOSECONDS, whole - whole % NANOSECONDS)


def problems_of(model: Scenario) -> Iterator[Problem]:
    """What is wrong with a scenario whose fields are right one by one."""
    lasts_ns = read_duration(model.duration) or 0
    if lasts_ns <= 0:
        yield Problem("KP113", ("duration",), "`duration` must be above 0")
    elif lasts_ns // sample_ns(model) > SAMPLES_MAX:
        message = f"there would be more than {SAMPLES_MAX:,} samples"
        yield Problem("KP109", ("sampleEvery",), message)
    if model.sample_every is not None and not read_duration(model.sample_every):
        yield Problem("KP113", ("sampleEvery",), "`sampleEvery` must be above 0")
    if not (model.snapshot or model.trace or model.arrivals):
        hint = "give `arrivals`, a `trace` or a `snapshot`"
        yield Problem("KP511", ("kind",), "no pod comes in this scenario", hint)
    adds = any(change.add for change in model.changes)
    if not (model.snapshot or adds or sum(group.count for group in model.nodes)):
        hint = "give `nodes` with a `count`, or a `snapshot`"
        yield Problem("KP511", ("nodes",), "there are no nodes in this scenario", hint)
    expected = sum(_expected(model, position) for position in range(len(model.arrivals)))
    if expected > ARRIVALS_MAX:
        message = f"about {expected:,.0f} pods would come; at most {ARRIVALS_MAX:,} may"
        yield Problem("KP109", ("arrivals",), message)
    yield from _wrong_names(model)
    yield from _wrong_times(model, lasts_ns)


def _expected(model: Scenario, position: int) -> float:
    arrivals = model.arrivals[position]
    factor = max(arrivals.hours or (1.0,))
    return arrivals.per_hour * factor * (read_duration(model.duration) or 0) / _HOUR_NS


def _wrong_names(model: Scenario) -> Iterator[Problem]:
    groups, kinds = [group.name for group in model.nodes], [kind.name for kind in model.pods]
    yield from _twice("nodes", groups)
    yield from _twice("pods", kinds)
    for position, group in enumerate(model.nodes):
        yield from _unknown(("nodes", position, "from"), group.from_, groups, "group of nodes")
    for position, kind in enumerate(model.pods):
        yield from _unknown(("pods", position, "from"), kind.from_, kinds, "kind of pods")
    for position, arrivals in enumerate(model.arrivals):
        yield from _unknown(("arrivals", position, "pods"), arrivals.pods, kinds, "kind of pods")
    for position, change in enumerate(model.changes):
        yield from _unknown(("changes", position, "add"), change.add, groups, "group of nodes")


def _twice(field: str, listed: Sequence[str]) -> Iterator[Problem]:
    for position, name in enumerate(listed):
        if name in listed[:position]:
            yield Problem("KP104", (field, position, "name"), f"two of `{field}` are `{name}`")


def _unknown(path: Path, name: str | None, known: Iterable[str], what: str) -> Iterator[Problem]:
    known = list(known)
    if name is not None and name not in known:
        hint = did_you_mean(name, known) or f"there are {', '.join(known) or 'none'}"
        yield Problem("KP510", path, f"there is no {what} `{name}`", hint)


def _wrong_times(model: Scenario, lasts_ns: int) -> Iterator[Problem]:
    for position, change in enumerate(model.changes):
        if (read_duration(change.at) or 0) > lasts_ns:
            path: Path = ("changes", position, "at")
            yield Problem("KP113", path, f"this is after the end, `{model.duration}`")
    for position, arrivals in enumerate(model.arrivals):
        begin = read_duration(arrivals.from_) or 0
        end = lasts_ns if arrivals.until is None else read_duration(arrivals.until) or 0
        if begin >= end:
            message = "these pods end to come before they begin"
            yield Problem("KP113", ("arrivals", position), message)


def nodes_named(model: Scenario) -> Iterator[tuple[Path, str]]:
    """The nodes that changes name, with their places."""
    for position, change in enumerate(model.changes):
        for field in ("drain", "uncordon", "fail"):
            for name in names(getattr(change, field)):
                yield ("changes", position, field), name
