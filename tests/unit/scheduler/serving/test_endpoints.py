"""The access rules and the certificate of the options, refused requests, and how reviews are
remembered.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

import pytest

from kpolicy.cluster.api import ApiClient
from kpolicy.cluster.reviews import ReviewedUser, ReviewFailure, Reviews
from kpolicy.scheduler import limits
from kpolicy.scheduler.options import Options
from kpolicy.scheduler.problem_codes import (
    Problem,
)
from kpolicy.scheduler.serving.endpoints import DelegatedAccess, Serving, serving_of
from kpolicy.telemetry.access import NotConfigured, Open
from tests.manual_clock import ManualClock

NO_CLIENT = cast("ApiClient", None)


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({}, None),
        ({"bind_address": "0.0.0.0"}, None),
        ({"auth": "delegated"}, None),
        ({"auth": "token", "auth_token_file": "f"}, None),
        ({"auth": "magic"}, "KPS202"),
        ({"auth": "token"}, "KPS202"),
        ({"auth_token_file": "f"}, "KPS202"),
        ({"tls_cert_file": "c"}, "KPS202"),
        ({"tls_private_key_file": "k"}, "KPS202"),
        ({"auth": "delegated", "bind_address": "0.0.0.0"}, "KPS207"),
        (
            {"auth": "token", "auth_token_file": "f", "bind_address": "10.0.0.1"},
            "KPS207",
        ),
        (
            {
                "auth": "delegated",
                "bind_address": "0.0.0.0",
                "tls_cert_file": "c",
                "tls_private_key_file": "k",
            },
            None,
        ),
    ],
)
def test_what_goes_together(fields: dict[str, str], code: str | None) -> None:
    problem = Options(**fields).checked()  # type: ignore[arg-type]
    assert (problem.code if problem is not None else None) == code


def test_the_guard_follows_from_the_options() -> None:
    def made(**fields: Any) -> Serving | Problem:
        return serving_of(replace(Options(), **fields), NO_CLIENT, ManualClock())

    own, other, delegated = made(), made(bind_address="0.0.0.0"), made(auth="delegated")
    assert isinstance(own, Serving)
    assert isinstance(own.guard, Open)
    assert own.tls is None
    assert isinstance(other, Serving)
    assert isinstance(other.guard, NotConfigured)
    assert isinstance(delegated, Serving)
    assert isinstance(delegated.guard, DelegatedAccess)
    for fields, code in (
        ({"auth": "token", "auth_token_file": "/none"}, "KPS206"),
        ({"tls_cert_file": "/none", "tls_private_key_file": "/none"}, "KPS205"),
    ):
        problem = made(**fields)
        assert isinstance(problem, Problem)
        assert problem.code == code


class CountedReviews(Reviews):
    """`alice` may read /metrics; `down` is an API server that does not answer."""

    def __init__(self) -> None:
        super().__init__(NO_CLIENT)
        self.asked = 0
        self.down = False

    async def user_of(self, token: str) -> ReviewedUser | ReviewFailure | None:
        self.asked += 1
        if self.down:
            return ReviewFailure("no answer within 4 s")
        return ReviewedUser("alice") if token == "alices" else None

    async def allows(self, user: ReviewedUser, verb: str, path: str) -> bool | ReviewFailure:
        self.asked += 1
        return ReviewFailure("down") if self.down else (verb, path) == ("get", "/metrics")


async def test_answers_are_remembered_for_a_moment_and_failures_refuse() -> None:
    clock, reviews = ManualClock(), CountedReviews()
    guard = DelegatedAccess(reviews, clock)

    async def status(token: str, path: str = "/metrics") -> int:
        refusal = await guard.refuse(f"Bearer {token}" if token else "", "get", path)
        return refusal.status if refusal is not None else 200

    assert await status("") == 401
    assert reviews.asked == 0
    assert await status("alices") == 200
    assert reviews.asked == 2
    reviews.down = True
    assert await status("alices") == 200, "remembered"
    assert reviews.asked == 2
    assert await status("bobs") == 503
    await clock.advance(limits.REVIEW_REMEMBERED_NS / 1e9)
    assert await status("alices") == 503, "not for longer"
    reviews.down = False
    assert await status("alices") == 200, "a failure must not be remembered"
    assert await status("alices", "/configz") == 403
    assert await status("bobs") == 401
    for number in range(limits.REVIEWS_REMEMBERED_MAX + 10):
        assert await status(f"nobody-{number}") == 401
    asked = reviews.asked
    assert await status("alices") == 200
    assert reviews.asked == asked + 1, "the token made room; the right did not"
