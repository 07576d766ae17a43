"""The next step after each end of a list or a watch."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kpolicy.api_times import NANOSECONDS
from kpolicy.cluster.limits import REFUSED_SOON_MAX
from kpolicy.cluster.request_failure import Cause, Failure, Status, TimedOut, Unreachable
from kpolicy.cluster.watch.listing import Broken, End, Listed, Stale, Watched
from kpolicy.cluster.watch.watch_plan import Plan, after_list, after_watch

WATCHING = Plan(list_needed=False, list_latest=False, resource_version="100")
MINUTES_5 = 300 * NANOSECONDS
LOST = Unreachable(Cause.LOST, "gone", sent=True)


def watched(
    plan: Plan,
    end: End,
    *,
    failure: Failure | None = None,
    status: Status | None = None,
    version: str = "100",
    size: int = 0,
    lasted_ns: int = MINUTES_5,
) -> Plan:
    outcome = Watched(end, version, size, failure, status)
    return after_watch(plan, outcome, lasted_ns, 0, 0.0)


def test_it_begins_with_a_list_of_the_newest_state() -> None:
    assert Plan().list_needed
    assert Plan().list_version == ""


def test_a_list_is_followed_by_a_watch_from_its_version() -> None:
    plan = after_list(Plan(), Listed("100", 1), 0, 0.0)
    assert (plan.list_needed, plan.resource_version, plan.wait_s) == (False, "100", 0.0)


def test_a_watch_whose_time_is_up_is_followed_by_the_next_at_once() -> None:
    plan = watched(WATCHING, End.CLOSED, version="150", size=10)
    assert (plan.list_needed, plan.resource_version, plan.wait_s) == (False, "150", 0.0)
    assert plan.error == ""


def test_a_watch_that_ends_as_it_begins_is_a_failure() -> None:
    assert watched(WATCHING, End.CLOSED, lasted_ns=NANOSECONDS // 2).wait_s >= 0.8
    assert watched(WATCHING, End.CLOSED, lasted_ns=NANOSECONDS // 2, size=1).wait_s == 0


def test_the_version_never_goes_back() -> None:
    assert watched(WATCHING, End.CLOSED, version="99", size=1).resource_version == "100"


def test_silence_is_followed_by_a_watch_from_the_last_version_at_once() -> None:
    plan = watched(WATCHING, End.SILENT)
    assert (plan.list_needed, plan.resource_version, plan.wait_s) == (False, "100", 0.0)
    assert "silent" in plan.error


@pytest.mark.parametrize("in_stream", [False, True])
def test_both_forms_of_410_list_again_from_no_older_than_was_seen(in_stream: bool) -> None:
    if in_stream:
        status = Status(410, "Expired", "too old resource version")
        plan = watched(WATCHING, End.STATUS, status=status, size=100)
    else:
        plan = watched(WATCHING, End.FAILED, failure=Status(410, "Expired", "too old"))
    assert plan.list_needed
    assert plan.list_version == "100"
    assert plan.wait_s >= 0.8


@pytest.mark.parametrize(
    "failure", [Status(429, "TooManyRequests", "busy", 7.0), LOST, TimedOut(10)]
)
def test_a_busy_or_absent_server_never_makes_us_list(failure: Failure) -> None:
    plan = WATCHING
    for _ in range(100):
        plan = watched(plan, End.FAILED, failure=failure)
        assert not plan.list_needed
        assert plan.resource_version == "100"
        assert 0.8 <= plan.wait_s <= 30


def test_retry_after_is_honoured() -> None:
    failure = Status(429, "TooManyRequests", "busy", 7.0)
    assert watched(WATCHING, End.FAILED, failure=failure).wait_s == 7.0


def test_errors_one_after_the_other_without_a_byte_make_us_list() -> None:
    plan, failure = WATCHING, Status(500, "InternalError", "etcd")
    for _ in range(4):
        plan = watched(plan, End.FAILED, failure=failure)
        assert not plan.list_needed
    assert watched(plan, End.FAILED, failure=failure, size=10).list_needed is False
    assert watched(plan, End.FAILED, failure=failure).list_needed is True


def test_a_version_in_the_servers_future_is_tried_again_then_listed_at_the_newest() -> None:
    failure, plan = Status(504, "Timeout", "Too large resource version: 100, current: 9"), WATCHING
    for _ in range(2):
        plan = watched(plan, End.FAILED, failure=failure)
        assert not plan.list_needed
    plan = watched(plan, End.FAILED, failure=failure)
    assert plan.list_needed
    assert plan.list_version == ""


def test_a_list_at_a_version_in_the_servers_future_ends_at_the_newest_too() -> None:
    failure = Status(504, "Timeout", "Too large resource version")
    plan = replace(WATCHING, list_needed=True)
    for _ in range(3):
        assert plan.list_version == "100"
        plan = after_list(plan, Broken(failure, paging=False), 0, 0.0)
    assert plan.list_version == ""


@pytest.mark.parametrize("code", [401, 403, 404])
def test_what_is_refused_is_retried_slowly_after_a_few_times(code: int) -> None:
    failure = Status(code, "Forbidden", "no")
    listing, watching = Plan(), WATCHING
    for number in range(6):
        listing = after_list(listing, Broken(failure, paging=False), 0, 0.0)
        watching = watched(watching, End.FAILED, failure=failure)
        is_slow = number >= REFUSED_SOON_MAX
        assert (listing.wait_s >= 30, watching.wait_s >= 30) == (is_slow, is_slow), number
    read = after_list(listing, Listed("101", 1), 0, 0.0)
    assert after_list(read, Broken(failure, paging=False), 0, 0.0).wait_s < 30


def test_a_list_older_than_what_was_seen_is_refused_a_few_times_then_taken() -> None:
    plan = replace(WATCHING, list_needed=True)
    for number in range(5):
        assert plan.refuse_stale, number
        plan = after_list(plan, Stale("50"), 0, 0.0)
        assert plan.list_needed
        assert plan.wait_s >= 0.8
    assert not plan.refuse_stale
    assert after_list(plan, Listed("50", 1), 0, 0.0).resource_version == "50"


def test_a_page_too_large_is_asked_for_in_halves_down_to_one_object() -> None:
    plan, sizes = Plan(), []
    oversized = Broken(Unreachable(Cause.OVERSIZED, "large", sent=True), paging=False)
    while plan.wait_s == 0.0:
        sizes.append(plan.page_objects)
        plan = after_list(plan, oversized, 0, 0.0)
    assert sizes == [500, 250, 125, 62, 31, 15, 7, 3, 1]


def test_a_lost_continue_token_makes_pages_larger() -> None:
    plan, expired = Plan(), Broken(Status(410, "Expired", "continue"), paging=True)
    for expected in (2000, 8000, 8000):
        plan = after_list(plan, expired, 0, 0.0)
        assert plan.page_objects == expected
        assert plan.list_needed
    assert after_list(Plan(), replace(expired, paging=False), 0, 0.0).page_objects == 500
