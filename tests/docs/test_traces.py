"""The traces on the page are those of a run, but for what differs between any two runs."""

from __future__ import annotations

from tests.docs.traces import on_page, run, shape


async def test_the_page_shows_what_a_run_gives() -> None:
    shown = shape(on_page())
    assert shown == shape(await run())
    assert shown.count("schedule pod") == 4
    assert shown.count("evict ") == 1
    assert shown.count("link to the attempt before") == 1
    assert "kpolicy.result: scheduled" in shown
    assert "kpolicy.result: unschedulable" in shown
