"""Query parameters of list, watch and writes.

Owns their reading and the rules which of them go together. Pure; what does not fit is a `Failure`.
Must not know the store.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from kpolicy.testing import limits, selectors
from kpolicy.testing.encoding import decode, encode
from kpolicy.testing.failures import (
    Cause,
    Failure,
    bad_request,
    invalid_options,
    not_allowed,
)
from kpolicy.testing.resources import Resource
from kpolicy.testing.selectors import Selector

Query = Mapping[str, str]

EXACT: Final = "Exact"
NOT_OLDER_THAN: Final = "NotOlderThan"
_LIST: Final = "ListOptions"
_MATCH: Final = "resourceVersionMatch"
_CONTINUE_VERSION: Final = "meta.k8s.io/v1"


@dataclass(frozen=True, slots=True)
class ListParameters:
    selector: Selector
    limit: int  # 0: all
    revision: int | None  # None: most recent
    exact: bool
    after: tuple[str, str] | None  # the last key of the page before


@dataclass(frozen=True, slots=True)
class WatchParameters:
    selector: Selector
    revision: int | None  # None: the state as it is, then what follows
    bookmarks: bool
    initial_events: bool
    timeout_s: float


def list_parameters(resource: Resource, query: Query) -> ListParameters | Failure:
    selector = _selector(resource, query)
    limit = _number(query, "limit")
    revision = _number(query, "resourceVersion")
    for each in (selector, limit, revision):
        if isinstance(each, Failure):
            return each
    assert isinstance(selector, Selector)
    assert not isinstance(limit, Failure)
    assert not isinstance(revision, Failure)
    if query.get("sendInitialEvents"):
        why = not_allowed("sendInitialEvents", "sendInitialEvents is forbidden for list")
        return invalid_options(_LIST, why)
    match = query.get(_MATCH, "")
    problem = _match_problem(match, revision)
    if problem is not None:
        return problem
    limit = min(limit or 0, limits.LIST_LIMIT_MAX)
    token = query.get("continue", "")
    if token:
        if revision:
            return bad_request("specifying resource version is not allowed when using continue")
        place = _continued(token)
        if isinstance(place, Failure):
            return place
        return ListParameters(selector, limit, place[0], exact=True, after=place[1])
    # Without a match a page at a revision is that revision exactly; a whole list may be newer.
    exact = match == EXACT or (not match and bool(limit) and bool(revision))
    return ListParameters(selector, limit, revision or None, exact=exact, after=None)


def watch_parameters(resource: Resource, query: Query) -> WatchParameters | Failure:
    selector = _selector(resource, query)
    revision = _number(query, "resourceVersion")
    timeout_s = _number(query, "timeoutSeconds")
    for each in (selector, revision, timeout_s):
        if isinstance(each, Failure):
            return each
    assert isinstance(selector, Selector)
    assert not isinstance(revision, Failure)
    assert not isinstance(timeout_s, Failure)
    initial = query.get("sendInitialEvents", "")
    bookmarks = _is_true(query.get("allowWatchBookmarks", ""))
    match = query.get("resourceVersionMatch", "")
    problem = _initial_events_problem(initial, match)
    if problem is not None:
        return invalid_options(_LIST, problem)
    return WatchParameters(
        selector,
        revision or None,
        bookmarks=bookmarks,
        initial_events=_is_true(initial),
        timeout_s=min(timeout_s or limits.WATCH_TIMEOUT_S, limits.WATCH_TIMEOUT_S_MAX),
    )


def is_dry_run(query: Query, options: str) -> bool | Failure:
    value = query.get("dryRun", "")
    if value not in ("", "All"):
        text = f'Unsupported value: ["{value}"]: supported values: "All"'
        return invalid_options(options, Cause("dryRun", "FieldValueNotSupported", text))
    return value == "All"


def continue_token(revision: int, after: tuple[str, str]) -> str:
    token = {"v": _CONTINUE_VERSION, "rv": revision, "start": "/".join(after)}
    return base64.urlsafe_b64encode(encode(token)).rstrip(b"=").decode()


def _selector(resource: Resource, query: Query) -> Selector | Failure:
    return selectors.parse(resource, query.get("labelSelector", ""), query.get("fieldSelector", ""))


def _number(query: Query, name: str) -> int | Failure | None:
    text = query.get(name, "")
    if not text:
        return None
    if not (text.isascii() and text.isdigit()) or len(text) > 19:
        problem = f'parsing "{text}": invalid syntax'
        if name != "resourceVersion":
            return bad_request(f"strconv.ParseInt: {problem}")
        where = f'{name}: Invalid value: "{text}"'
        return bad_request(f"invalid resource version: {where}: strconv.ParseUint: {problem}")
    return int(text)


def _is_true(text: str) -> bool:
    return text.lower() in ("1", "true")


def _match_problem(match: str, revision: int | None) -> Failure | None:
    if match not in ("", EXACT, NOT_OLDER_THAN):
        supported = f'supported values: "{EXACT}", "{NOT_OLDER_THAN}", ""'
        text = f'Unsupported value: "{match}": {supported}'
        return invalid_options(_LIST, Cause(_MATCH, "FieldValueNotSupported", text))
    if match and revision is None:
        why = "resourceVersionMatch is forbidden unless resourceVersion is provided"
        return invalid_options(_LIST, not_allowed(_MATCH, why))
    if match == EXACT and revision == 0:
        why = 'resourceVersionMatch "exact" is forbidden for resourceVersion "0"'
        return invalid_options(_LIST, not_allowed(_MATCH, why))
    return None


def _initial_events_problem(initial: str, match: str) -> Cause | None:
    if initial and match != NOT_OLDER_THAN:
        why = "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"
        return not_allowed(_MATCH, why)
    if not initial and match:
        why = "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided"
        return not_allowed(_MATCH, why)
    return None


def _continued(token: str) -> tuple[int, tuple[str, str]] | Failure:
    wrong = bad_request("invalid continue token: continue key is not valid")
    if len(token) > limits.CONTINUE_CHARACTERS_MAX:
        return wrong
    try:
        text = base64.urlsafe_b64decode(token + "=" * (-len(token) % 4))
    except (binascii.Error, ValueError):
        return wrong
    value = decode(text)
    if not isinstance(value, dict):
        return wrong
    revision, start = value.get("rv"), value.get("start")
    if not isinstance(revision, int) or not isinstance(start, str) or "/" not in start:
        return wrong
    namespace, _, name = start.partition("/")
    return revision, (namespace, name)
