"""When pods of a scenario come, and how long they stay: random, and the same for the same seed.

Times are made of numbers that come once a pod, so that another rate moves the times and nothing
else: two runs that differ in a parameter stay comparable.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import exp, log
from random import Random
from statistics import NormalDist
from typing import Final

from kpolicy.api_times import NANOSECONDS
from kpolicy.offline.days.durations import read_duration
from kpolicy.offline.days.scenario_model import HOURS, Arrivals, LifetimeForm
from kpolicy.offline.limits import DAYS_NS_MAX

_HOUR_NS: Final = 3_600 * NANOSECONDS
_NORMAL: Final = NormalDist()
# The distribution has no value at 0.
_LEAST: Final = 2.0**-53


def times(arrivals: Arrivals, begins_ns: int, ends_ns: int, random: Random) -> Iterator[int]:
    """The times of arrivals, in order."""
    at_ns = float(begins_ns + (read_duration(arrivals.from_) or 0))
    if arrivals.until is not None:
        ends_ns = min(ends_ns, begins_ns + (read_duration(arrivals.until) or 0))
    is_even = arrivals.process == "even"
    # How many pods may be expected before the next one comes.
    left = 1.0 if is_even else random.expovariate(1.0)
    while at_ns < ends_ns:
        hour = int(at_ns) // _HOUR_NS
        until_ns = min(float((hour + 1) * _HOUR_NS), float(ends_ns))
        factor = 1.0 if arrivals.hours is None else arrivals.hours[hour % HOURS]
        rate = arrivals.per_hour * factor / _HOUR_NS
        expected = rate * (until_ns - at_ns)
        if expected < left:
            left -= expected
            at_ns = until_ns
            continue
        at_ns += left / rate
        if at_ns >= ends_ns:
            return
        yield int(at_ns)
        left = 1.0 if is_even else random.expovariate(1.0)


def lifetime(form: str | LifetimeForm | None, random: Random) -> int | None:
    """In nanoseconds; None: until the end."""
    number = random.random()  # one for each pod, whatever the distribution is
    if form is None:
        return None
    if isinstance(form, str):
        return read_duration(form)
    first, last = (read_duration(form.parts[index]) or 0 for index in (0, -1))
    if form.uniform is not None:
        drawn = first + number * (last - first)
    elif form.lognormal is not None:
        deviations = _NORMAL.inv_cdf(max(number, _LEAST))
        drawn = first * exp(log(last / first) / _NORMAL.inv_cdf(0.9) * deviations)
    else:
        drawn = -log(1.0 - number) * first
    return min(int(drawn), DAYS_NS_MAX)
