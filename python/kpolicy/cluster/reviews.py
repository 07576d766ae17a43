"""Asks the API server whose bearer token this is, and whether that user may read a path.

Uses TokenReview and SubjectAccessReview. An unclear answer is a `ReviewFailure`. Keeps nothing,
least of all tokens.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any, Final

from kpolicy.cluster.api import ApiClient, Response
from kpolicy.cluster.limits import REVIEW_TIMEOUT_S

_TOKENS: Final = "/apis/authentication.k8s.io/v1/tokenreviews"
_ACCESS: Final = "/apis/authorization.k8s.io/v1/subjectaccessreviews"


@dataclass(frozen=True, slots=True)
class ReviewedUser:
    name: str
    uid: str = ""
    groups: tuple[str, ...] = ()
    extra: dict[str, list[str]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ReviewFailure:
    message: str


class Reviews:
    def __init__(self, client: ApiClient) -> None:
        self._client = client

    async def user_of(self, token: str) -> ReviewedUser | ReviewFailure | None:
        """Return the user the token belongs to; None if the token is not valid."""
        spec = {"token": token}
        status = await self._ask(_TOKENS, "authentication.k8s.io/v1", "TokenReview", spec)
        if isinstance(status, ReviewFailure):
            return status
        user = status.get("user")
        if status.get("authenticated") is not True or not isinstance(user, dict):
            return None
        if not user.get("username"):
            return None
        groups, extra = user.get("groups") or (), user.get("extra") or {}
        return ReviewedUser(user["username"], user.get("uid") or "", tuple(groups), dict(extra))

    async def allows(self, user: ReviewedUser, verb: str, path: str) -> bool | ReviewFailure:
        """Whether the user may access a path that is not a resource."""
        spec = {
            "user": user.name,
            "uid": user.uid,
            "groups": list(user.groups),
            "extra": user.extra,
            "nonResourceAttributes": {"path": path, "verb": verb},
        }
        status = await self._ask(_ACCESS, "authorization.k8s.io/v1", "SubjectAccessReview", spec)
        if isinstance(status, ReviewFailure):
            return status
        return status.get("allowed") is True and status.get("denied") is not True

    async def _ask(
        self, path: str, version: str, kind: str, spec: dict[str, Any]
    ) -> dict[str, Any] | ReviewFailure:
        body = json.dumps({"apiVersion": version, "kind": kind, "spec": spec}).encode()
        answer = await self._client.request("POST", path, body=body, timeout_s=REVIEW_TIMEOUT_S)
        if not isinstance(answer, Response):
            return ReviewFailure(f"{kind}: {answer}")
        try:
            status = json.loads(answer.body)["status"]
        except (ValueError, KeyError, TypeError, RecursionError):
            return ReviewFailure(f"{kind}: the answer could not be read")
        return status if isinstance(status, dict) else ReviewFailure(f"{kind}: no status came")
