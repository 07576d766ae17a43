"""The page of metrics is what a scraper of a running scheduler gets: nothing more, nothing less."""

from __future__ import annotations

import fnmatch
import re

import aiohttp

from tests.docs.metrics import PAGES, THEIRS, left_out, on_page, running, table
from tests.unit.telemetry.exposition import parsed


async def test_the_page_lists_every_metric_of_a_real_answer() -> None:
    async with running() as scheduler, aiohttp.ClientSession() as session:
        text = await (await session.get(scheduler.url + "/metrics")).text()
        descriptions = scheduler.metrics.registry.descriptions()
    assert on_page() == table(descriptions)
    families = parsed(text)
    assert [description.name for description in descriptions] == sorted(families)
    assert len(families) >= 70
    shown = 0
    for row in descriptions:
        family = families[row.name]
        assert (family.kind, family.help) == (row.kind, row.help)
        for labels in (*family.samples, *family.counts):
            assert {name for name, _ in labels} == set(row.labels), row.name
            shown += 1
    assert shown > 100


async def test_requests_are_counted_and_timed_under_client_gos_labels() -> None:
    async with running() as scheduler, aiohttp.ClientSession() as session:
        families = parsed(await (await session.get(scheduler.url + "/metrics")).text())
    counted = families["rest_client_requests_total"].samples
    timed = families["rest_client_request_duration_seconds"].counts
    (host,) = {dict(labels)["host"] for labels in counted}
    assert host.startswith("127.0.0.1:")
    assert counted[frozenset({("code", "201"), ("method", "POST"), ("host", host)})] >= 1
    by_method: dict[str, float] = {}
    for labels, count in counted.items():
        method = dict(labels)["method"]
        by_method[method] = by_method.get(method, 0) + count
    assert by_method == {dict(labels)["verb"]: count for labels, count in timed.items()}
    assert by_method.keys() >= {"GET", "POST"}
    assert "WATCH" not in by_method


async def test_each_metric_of_kube_scheduler_is_served_or_left_out_for_a_reason() -> None:
    text = ""
    async with running() as scheduler, aiohttp.ClientSession() as session:
        for path in ("/readyz", *PAGES):
            answer = await session.get(scheduler.url + path)
            text += await answer.text() if path != "/readyz" else ""
        served = {row.name for row in scheduler.metrics.registry.descriptions()}
    served |= set(re.findall(r"^# TYPE (\S+) ", text, re.MULTILINE))
    assert {"kubernetes_healthchecks_total", "kube_pod_resource_limit"} <= served
    theirs = set(THEIRS.read_text("utf-8").split())
    assert len(theirs) > 100
    reasons = left_out()
    assert len(reasons) > 30
    explained = {
        pattern: {name for name in theirs - served if fnmatch.fnmatchcase(name, pattern)}
        for pattern in reasons
    }
    assert theirs - served == set().union(*explained.values())
    assert [pattern for pattern, names in explained.items() if not names] == [], "of no metric"
    assert [
        name for name in served for pattern in reasons if fnmatch.fnmatchcase(name, pattern)
    ] == []
    assert all(len(reason) >= len("The same.") for reason in reasons.values())
