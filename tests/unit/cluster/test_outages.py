"""An outage writes two lines to the log, however many watches it ends; a refusal writes one."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest
import yaml

from kpolicy.cluster.limits import OUTAGE_LOG_PERIOD_S
from kpolicy.cluster.outages import Outages
from kpolicy.cluster.request_failure import Cause, Failure, Status, TimedOut, Unreachable
from kpolicy.cluster.watch.resource import Resource
from kpolicy.scheduler.loop.watched_resources import RESOURCES, ROLE
from tests.manual_clock import ManualClock
from tests.unit.cluster.doubles import connection

REFUSED = Unreachable(Cause.REFUSED, "connect call failed", sent=False)
CUT = Unreachable(Cause.LOST, "the watch ended", sent=True)
BUSY = Status(503, "ServiceUnavailable", "starting")
ALL = tuple(RESOURCES.values())
PODS, NODES = RESOURCES["pods"], RESOURCES["nodes"]


class Logged:
    """What the log says from info on."""

    def __init__(self, caplog: pytest.LogCaptureFixture) -> None:
        caplog.set_level(logging.DEBUG, "kpolicy.cluster.outages")
        self._caplog = caplog
        self.clock = ManualClock()
        self.outages = Outages(connection("https://server"), self.clock)

    def fail(self, failure: Failure | None, *resources: Resource) -> None:
        for resource in resources:
            self.outages.failed(resource, "watch", failure, str(failure))

    def answer(self, *resources: Resource) -> None:
        for resource in resources:
            self.outages.answered(resource)

    def lines(self) -> list[str]:
        return [record.getMessage() for record in self._records()]

    def hints(self) -> list[object]:
        return [vars(record).get("hint", "") for record in self._records()]

    def details(self) -> int:
        return sum(record.levelno == logging.DEBUG for record in self._caplog.records)

    def _records(self) -> list[logging.LogRecord]:
        return [record for record in self._caplog.records if record.levelno > logging.DEBUG]


@pytest.fixture
def logged(caplog: pytest.LogCaptureFixture) -> Logged:
    return Logged(caplog)


async def test_an_outage_is_logged_once_and_so_is_its_end(logged: Logged) -> None:
    logged.fail(CUT, *ALL)
    for _ in range(20):
        logged.fail(REFUSED, *ALL)
        await logged.clock.advance(3)
    logged.answer(*ALL)
    assert logged.lines() == [
        (
            "the API server is away: cannot watch pods: nothing answers at https://server "
            "(connect call failed)"
        ),
        "the API server is back after 60.0 s",
    ]
    assert logged.hints()[0] == "is the API server running, and is the port right?"
    assert logged.details() == 21 * len(ALL), "the errors of all attempts must be available"


def test_a_connection_that_is_cut_and_made_again_is_no_outage(logged: Logged) -> None:
    logged.fail(CUT, PODS, NODES)
    logged.answer(PODS, NODES)
    logged.fail(Status(410, "Expired", "too old"), PODS, PODS)
    logged.answer(PODS)
    assert logged.lines() == []


@pytest.mark.parametrize(
    ("failures", "is_logged"),
    [
        ((TimedOut(10.0),), True),
        ((Status(401, "Unauthorized", "expired"),), True),
        ((BUSY,), False),
        ((BUSY, BUSY), True),
        ((CUT, CUT), True),
        ((None, None), False),
    ],
)
def test_what_says_that_it_is_away(
    logged: Logged, failures: tuple[Failure | None, ...], is_logged: bool
) -> None:
    for failure in failures:
        logged.fail(failure, PODS)
    assert bool(logged.lines()) is is_logged


async def test_a_server_that_comes_and_goes_is_logged_at_intervals(logged: Logged) -> None:
    for _ in range(10):
        logged.fail(REFUSED, PODS)
        logged.answer(PODS)
        await logged.clock.advance(OUTAGE_LOG_PERIOD_S / 10)
    assert len(logged.lines()) == 2
    logged.fail(REFUSED, PODS)
    assert len(logged.lines()) == 3


def test_a_server_that_starts_may_refuse_for_a_moment(logged: Logged) -> None:
    logged.fail(REFUSED, *ALL)
    logged.fail(Status(403, "Forbidden", "not yet"), *ALL)
    logged.answer(*ALL)
    assert len(logged.lines()) == 2


def test_a_refusal_names_resource_verb_and_role_once(logged: Logged) -> None:
    refused = Status(403, "Forbidden", 'csinodes is forbidden: User "test" cannot watch')
    for _ in range(5):
        logged.fail(refused, RESOURCES["csinodes"])
    logged.answer(PODS)
    logged.answer(RESOURCES["csinodes"])
    line = "cannot watch csinodes: 'test' may not (403 " + refused.message + ")"
    assert logged.lines() == [line, "csinodes can be read again"]
    assert logged.hints()[0] == f"{ROLE} grants list and watch on it: bind it to this user"


def test_the_role_that_is_named_grants_what_it_is_named_for() -> None:
    file = ROLE.partition("(")[2].rstrip(")")
    (role, _) = yaml.safe_load_all((Path(__file__).parents[3] / file).read_text("utf-8"))
    assert role["metadata"]["name"] == "kpolicy"
    granted = {
        (group, resource)
        for rule in role["rules"]
        if {"list", "watch"} <= set(rule["verbs"])
        for group in rule["apiGroups"]
        for resource in rule["resources"]
    }
    for resource in ALL:
        group = "" if resource.path.startswith("/api/") else resource.path.split("/")[2]
        assert (group, resource.name) in granted
    assert len(ALL) == 19
