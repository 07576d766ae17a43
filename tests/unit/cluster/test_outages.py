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


class Told:
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
def told(caplog: pytest.LogCaptureFixture) -> Told:
    return Told(caplog)


async def test_an_outage_is_told_once_and_so_is_its_end(told: Told) -> None:
    told.fail(CUT, *ALL)
    for _ in range(20):
        told.fail(REFUSED, *ALL)
        await told.clock.advance(3)
    told.answer(*ALL)
    assert told.lines() == [
        (
            "the API server is away: cannot watch pods: nothing answers at https://server "
            "(connect call failed)"
        ),
        "the API server is back after 60.0 s",
    ]
    assert told.hints()[0] == "is the API server running, and is the port right?"
    assert told.details() == 21 * len(ALL), "the errors of all attempts must be available"


def test_a_connection_that_is_cut_and_made_anew_is_no_outage(told: Told) -> None:
    told.fail(CUT, PODS, NODES)
    told.answer(PODS, NODES)
    told.fail(Status(410, "Expired", "too old"), PODS, PODS)
    told.answer(PODS)
    assert told.lines() == []


@pytest.mark.parametrize(
    ("failures", "is_told"),
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
    told: Told, failures: tuple[Failure | None, ...], is_told: bool
) -> None:
    for failure in failures:
        told.fail(failure, PODS)
    assert bool(told.lines()) is is_told


async def test_a_server_that_comes_and_goes_is_told_of_now_and_then(told: Told) -> None:
    for _ in range(10):
        told.fail(REFUSED, PODS)
        told.answer(PODS)
        await told.clock.advance(OUTAGE_LOG_PERIOD_S / 10)
    assert len(told.lines()) == 2
    told.fail(REFUSED, PODS)
    assert len(told.lines()) == 3


def test_a_server_that_starts_may_refuse_for_a_moment(told: Told) -> None:
    told.fail(REFUSED, *ALL)
    told.fail(Status(403, "Forbidden", "not yet"), *ALL)
    told.answer(*ALL)
    assert len(told.lines()) == 2


def test_a_refusal_names_resource_verb_and_role_once(told: Told) -> None:
    refused = Status(403, "Forbidden", 'csinodes is forbidden: User "test" cannot watch')
    for _ in range(5):
        told.fail(refused, RESOURCES["csinodes"])
    told.answer(PODS)
    told.answer(RESOURCES["csinodes"])
    line = "cannot watch csinodes: 'test' may not (403 " + refused.message + ")"
    assert told.lines() == [line, "csinodes can be read again"]
    assert told.hints()[0] == f"{ROLE} grants list and watch on it: bind it to this user"


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
    assert len(ALL) == 15
