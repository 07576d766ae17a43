"""The text of metrics, read by a strict parser."""

from __future__ import annotations

import pytest

from kpolicy.telemetry.limits import SERIES_MAX
from kpolicy.telemetry.metrics import (
    Computed,
    Counter,
    Description,
    Gauge,
    Histogram,
    Registry,
    exponential,
    register,
)
from kpolicy.telemetry.scheduler_metrics import SchedulerMetrics
from tests.unit.telemetry.exposition import parsed


def key(**labels: str) -> frozenset[tuple[str, str]]:
    return frozenset(labels.items())


def test_counters_gauges_and_histograms_are_written_as_prometheus_reads_them() -> None:
    counter = Counter("c_total", "Counts.", ("a", "b"))
    gauge = Gauge("g", "Is.")
    histogram = Histogram("h_seconds", "Takes.", (0.1, 1.0), ("who",))
    counter.add(("x", "y"))
    counter.add(("x", "y"), by=2)
    counter.add(("x", "z"))
    gauge.set(-1.5)
    for seconds in (0.05, 0.1, 0.5, 99.0):
        histogram.observe(seconds, ("me",))
    histogram.observe(0.5, ("me",), times=3)
    families = parsed(Registry([counter, gauge, histogram]).render())
    assert [(f.name, f.kind) for f in families.values()] == [
        ("c_total", "counter"),
        ("g", "gauge"),
        ("h_seconds", "histogram"),
    ]
    assert families["c_total"].samples == {key(a="x", b="y"): 3, key(a="x", b="z"): 1}
    assert families["g"].samples == {key(): -1.5}
    assert families["h_seconds"].buckets == {
        key(who="me"): [(0.1, 2), (1.0, 6), (float("inf"), 7)]  # the bound belongs to its bucket
    }
    assert families["h_seconds"].sums == {key(who="me"): pytest.approx(0.05 + 0.1 + 2.0 + 99)}


def test_any_text_in_labels_and_help_survives() -> None:
    odd = 'back\\slash "quoted"\nline'
    counter = Counter("c_total", "Help with \\ and\nline.", ("a",))
    counter.add((odd,))
    text = Registry([counter]).render()
    assert parsed(text)["c_total"].help == r"Help with \\ and\nline."
    assert r'a="back\\slash \"quoted\"\nline"' in text


@pytest.mark.parametrize(
    ("value", "written"),
    [(0, "0"), (1e9, "1000000000"), (0.1, "0.1"), (float("inf"), "+Inf"), (float("nan"), "NaN")],
)
def test_numbers_are_written_as_go_reads_them(value: float, written: str) -> None:
    gauge = Gauge("g", "Is.")
    gauge.set(value)
    assert Registry([gauge]).render().splitlines()[-1] == f"g {written}"


def test_what_has_no_labels_is_there_from_the_start() -> None:
    families = parsed(Registry([Counter("c_total", "C."), Histogram("h", "H.", (1,))]).render())
    assert families["c_total"].samples == {key(): 0}
    assert families["h"].count() == 0


def test_the_number_of_series_is_bounded_and_nothing_is_lost() -> None:
    counter = Counter("c_total", "C.", ("rule",))
    histogram = Histogram("h", "H.", (1,), ("rule",))
    for number in range(SERIES_MAX + 500):
        counter.add((f"rule-{number}",))
        histogram.observe(1, (f"rule-{number}",))
    counter.add(("rule-0",))
    families = parsed(Registry([counter, histogram]).render())
    assert len(families["c_total"].samples) == SERIES_MAX + 1
    assert families["c_total"].samples[key(rule="other")] == 500
    assert families["c_total"].samples[key(rule="rule-0")] == 2
    assert len(families["h"].buckets) == SERIES_MAX + 1


def test_what_somebody_else_keeps_is_asked_for_at_each_scrape() -> None:
    sizes: dict[tuple[str, ...], float] = {("nodes",): 1.0}
    registry = Registry([Computed(Description("size", "gauge", "S.", ("of",)), lambda: sizes)])
    assert parsed(registry.render())["size"].samples == {key(of="nodes"): 1}
    sizes[("pods",)] = 2.0
    assert len(parsed(registry.render())["size"].samples) == 2


def test_series_that_somebody_else_keeps_stand_beside_a_histograms_own() -> None:
    histogram = Histogram("h", "H.", (1, 2), ("who",))
    others: dict[tuple[str, ...], tuple[list[int], float]] = {("them",): ([3, 0, 1], 7.5)}
    histogram.join(lambda: others)
    histogram.observe(1.5, ("me",))
    found = parsed(Registry([histogram]).render())["h"]
    assert found.buckets == {
        key(who="me"): [(1, 0), (2, 1), (float("inf"), 1)],
        key(who="them"): [(1, 3), (2, 3), (float("inf"), 4)],
    }
    assert found.sums == {key(who="me"): 1.5, key(who="them"): 7.5}
    others[("them",)] = ([4, 0, 1], 8.0)
    assert parsed(Registry([histogram]).render())["h"].count(who="them") == 5


def test_binds_are_reported_as_an_extension_point_and_every_tenth_as_a_plugin() -> None:
    metrics = SchedulerMetrics()
    for number in range(21):
        metrics.bound("kpolicy", 0.004, succeeded=number != 20)
    metrics.pre_bound("kpolicy", 2.0, succeeded=True)
    families = parsed(metrics.registry.render())
    points = families["scheduler_framework_extension_point_duration_seconds"]
    assert points.count(extension_point="Bind", status="Success", profile="kpolicy") == 20
    assert points.count(extension_point="Bind", status="Error", profile="kpolicy") == 1
    assert points.count(extension_point="PreBind", status="Success", profile="kpolicy") == 1
    plugins = families["scheduler_plugin_execution_duration_seconds"]
    assert plugins.count(plugin="DefaultBinder", extension_point="Bind", status="Success") == 2
    assert plugins.count(plugin="DefaultBinder", extension_point="Bind", status="Error") == 1
    volumes = {"plugin": "VolumeBinding", "extension_point": "PreBind", "status": "Success"}
    assert plugins.count(**volumes) == 1


def test_a_name_is_registered_once() -> None:
    registry = Registry([Gauge("g", "Is.")])
    with pytest.raises(AssertionError, match="twice"):
        registry.register(Gauge("g", "Is."))


def test_buckets_are_those_of_kube_scheduler() -> None:
    assert exponential(0.001, 2, 3) == (0.001, 0.002, 0.004)
    metrics = SchedulerMetrics()
    metrics.attempted("scheduled", "kpolicy", 0.003)
    metrics.placed(20, 100.0, rescued=True)
    families = parsed(metrics.registry.render())
    attempt = families["scheduler_scheduling_attempt_duration_seconds"]
    (bounds,) = ([b for b, _ in buckets] for buckets in attempt.buckets.values())
    assert (bounds[0], bounds[-2], len(bounds)) == (0.001, 16.384, 16)
    sli = families["scheduler_pod_scheduling_sli_duration_seconds"]
    assert sli.count(attempts="15+") == 1
    assert families["scheduler_pod_scheduled_after_flush_total"].samples == {key(): 1}


def test_two_schedulers_in_one_process_do_not_meet() -> None:
    first, other = SchedulerMetrics(), SchedulerMetrics()
    first.attempted("scheduled", "kpolicy", 0.1)
    assert other.attempts.value(("scheduled", "kpolicy")) == 0


def test_the_process_tells_of_itself() -> None:
    registry = Registry()
    register(registry)
    families = parsed(registry.render())
    values = {name: family.samples[key()] for name, family in families.items()}
    assert set(values) == {
        "process_cpu_seconds_total",
        "process_resident_memory_bytes",
        "process_open_fds",
        "process_max_fds",
        "process_start_time_seconds",
        "python_allocated_blocks",
    }
    assert values["python_allocated_blocks"] > 10_000
    assert values["process_resident_memory_bytes"] > 10_000_000
    assert 0 < values["process_open_fds"] < values["process_max_fds"]
    assert values["process_start_time_seconds"] > 1_700_000_000
