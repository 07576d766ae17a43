"""When a replica may take a Lease, what it writes, and which terms are refused."""

from __future__ import annotations

import json

import pytest

from kpolicy.api_times import NANOSECONDS
from kpolicy.cluster.connection_problem import ConnectionProblem
from kpolicy.cluster.lease_record import (
    LeaseLock,
    LeaseTerms,
    Observation,
    held_lease,
    new_lease,
    read_lease,
    released_lease,
)

TERMS = LeaseTerms(15, 10, 2)
LOCK = LeaseLock("kube-system", "kpolicy", "me")
NOW = 1_700_000_000 * NANOSECONDS


@pytest.mark.parametrize(
    ("duration", "deadline", "retry", "words"),
    [
        (10, 10, 2, "leaseDuration 10s must be above renewDeadline 10s"),
        (15, 2.4, 2, "renewDeadline 2.4s must be above 1.2 x retryPeriod 2s"),
        (15, 10, 0, "above 0"),
        (15, -1, 2, "above 0"),
        (15.5, 10, 2, "whole seconds"),
        (0.5, 0.3, 0.1, "whole seconds"),
    ],
)
def test_terms_that_contradict_each_other_are_refused_with_words(
    duration: float, deadline: float, retry: float, words: str
) -> None:
    refused = LeaseTerms.checked(duration, deadline, retry)
    assert isinstance(refused, ConnectionProblem)
    assert refused.code == "KPC301"
    assert words in refused.message


def test_the_defaults_are_kube_schedulers() -> None:
    assert LeaseTerms.checked() == TERMS


def test_a_new_lease_is_as_the_api_wants_it() -> None:
    document = json.loads(new_lease(LOCK, TERMS, NOW + 1000))
    assert document["spec"] == {
        "holderIdentity": "me",
        "leaseDurationSeconds": 15,
        "acquireTime": "2023-11-14T22:13:20.000001Z",
        "renewTime": "2023-11-14T22:13:20.000001Z",
        "leaseTransitions": 0,
    }


def stored(holder: str, version: str = "7", duration: int = 15) -> bytes:
    return json.dumps(
        {
            "metadata": {"name": "l", "resourceVersion": version, "labels": {"kept": "yes"}},
            "spec": {
                "holderIdentity": holder,
                "leaseDurationSeconds": duration,
                "acquireTime": "2020-01-01T00:00:00.000000Z",
                "leaseTransitions": 3,
                "strategy": "OldestEmulationVersion",
            },
        }
    ).encode()


def test_renewing_keeps_what_is_not_ours_and_counts_no_transition() -> None:
    record = read_lease(stored("me"))
    assert record is not None
    document = json.loads(held_lease(record, "me", TERMS, NOW))
    assert document["metadata"] == {
        "name": "l",
        "resourceVersion": "7",
        "labels": {"kept": "yes"},
    }
    assert document["spec"]["leaseTransitions"] == 3
    assert document["spec"]["acquireTime"] == "2020-01-01T00:00:00.000000Z"
    assert document["spec"]["renewTime"] == "2023-11-14T22:13:20.000000Z"
    assert document["spec"]["strategy"] == "OldestEmulationVersion"
    assert json.loads(json.dumps(record.document)) == json.loads(stored("me"))


def test_taking_over_counts_a_transition() -> None:
    record = read_lease(stored("other"))
    assert record is not None
    spec = json.loads(held_lease(record, "me", TERMS, NOW))["spec"]
    assert (spec["holderIdentity"], spec["leaseTransitions"]) == ("me", 4)
    assert spec["acquireTime"] == "2023-11-14T22:13:20.000000Z"


def test_a_released_lease_is_nobodys_and_short() -> None:
    record = read_lease(stored("me"))
    assert record is not None
    spec = json.loads(released_lease(record, NOW))["spec"]
    assert (spec["holderIdentity"], spec["leaseDurationSeconds"]) == ("", 1)
    assert spec["leaseTransitions"] == 3


def test_a_lease_is_free_when_it_has_not_changed_for_as_long_as_its_holder_promised() -> None:
    first, second = read_lease(stored("other", "7")), read_lease(stored("other", "8"))
    assert first is not None
    assert second is not None
    seen = Observation(first, 100 * NANOSECONDS)
    assert seen.wait_ns("me", 115 * NANOSECONDS - 1) > 0
    assert seen.wait_ns("me", 115 * NANOSECONDS) == 0
    assert seen.wait_ns("other", 101 * NANOSECONDS) == 0
    unchanged = seen.next(first, 110 * NANOSECONDS)
    assert unchanged.wait_ns("me", 115 * NANOSECONDS) == 0
    renewed = seen.next(second, 110 * NANOSECONDS)
    assert renewed.wait_ns("me", 120 * NANOSECONDS) > 0


@pytest.mark.parametrize(
    "body",
    [b"", b"[]", b"{}", b'{"metadata":1}', b'{"metadata":{},"spec":{"leaseTransitions":"x"}}'],
)
def test_what_is_not_a_lease_is_none(body: bytes) -> None:
    assert read_lease(body) is None
