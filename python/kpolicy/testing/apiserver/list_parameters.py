"""Query parameters of list and watch: label and field selectors, limits, continue tokens, versions.

Pure. A selector or parameter that cannot be used raises an `ApiError`.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, TypeAlias

from pydantic_core import from_json, to_json

from kpolicy.testing import limits
from kpolicy.testing.objects.failures import Cause, bad_request, invalid_options, not_allowed
from kpolicy.testing.objects.resource_types import FieldPath, Resource

_KEY = r"(?:[a-zA-Z0-9]|[a-zA-Z0-9][-\w./]*[a-zA-Z0-9])"
_REQUIREMENT: Final = re.compile(
    rf"\s*(?:(?P<absent>!)\s*(?P<absent_key>{_KEY})"
    rf"|(?P<key>{_KEY})\s*(?:(?P<equality>==|=|!=)\s*(?P<value>[-\w.]*)"
    r"|\s(?P<operator>in|notin)\s*\((?P<values>[^()]*)\)"
    r"|(?P<order>[<>])\s*(?P<bound>-?\d+))?)"
    r"\s*(?:,|$)"
)
_FIELD: Final = re.compile(r"([^=!,]+?)(==|=|!=)((?:[^,\\]|\\.)*)(?:,|$)")


# Whether the value of a label (None: the label is absent) satisfies a requirement.
LabelTest: TypeAlias = Callable[[str | None], bool]


@dataclass(frozen=True, slots=True)
class FieldRequirement:
    path: FieldPath
    value: str
    equal: bool

    def matches(self, object_: Mapping[str, Any]) -> bool:
        return (field_text(object_, self.path) == self.value) is self.equal


@dataclass(frozen=True, slots=True)
class Selector:
    labels: tuple[tuple[str, LabelTest], ...] = ()
    fields: tuple[FieldRequirement, ...] = ()

    @property
    def is_everything(self) -> bool:
        return not self.labels and not self.fields

    def matches(self, object_: Mapping[str, Any]) -> bool:
        labels = object_["metadata"].get("labels") or {}
        return all(field.matches(object_) for field in self.fields) and all(
            is_satisfied(labels.get(key)) for key, is_satisfied in self.labels
        )


EVERYTHING: Final = Selector()


def field_text(object_: Mapping[str, Any], path: FieldPath) -> str:
    """Return a field as selectors compare it: an absent field reads as the zero of its type."""
    value: Any = object_
    for step in path:
        value = value.get(step) if isinstance(value, Mapping) else None
    if value is None:
        return "false" if path[-1] in _BOOLEAN_FIELDS else ""
    return str(value).lower() if isinstance(value, bool) else str(value)


def parse(resource: Resource, labels: str, fields: str) -> Selector:
    if not labels and not fields:
        return EVERYTHING
    if max(len(labels), len(fields)) > limits.SELECTOR_CHARACTERS_MAX:
        raise bad_request("selector too long")
    return Selector(_parse_labels(labels), _parse_fields(resource, fields))


def _parse_labels(text: str) -> tuple[tuple[str, LabelTest], ...]:
    requirements: list[tuple[str, LabelTest]] = []
    at = 0
    while at < len(text):
        if (found := _REQUIREMENT.match(text, at)) is None:
            raise bad_request(f"unable to parse requirement: found '{text[at:]}'")
        requirements.append((found["absent_key"] or found["key"], _label_test(found)))
        at = found.end()
    return tuple(requirements)


def _label_test(found: re.Match[str]) -> LabelTest:
    if found["absent"]:
        return lambda value: value is None
    if found["equality"]:
        is_equal = found["equality"] != "!="
        return lambda value: (value == found["value"]) is is_equal
    if found["operator"]:
        values = frozenset(value.strip() for value in found["values"].split(","))
        is_in = found["operator"] == "in"
        return lambda value: (value in values) is is_in
    if found["order"]:
        return partial(_is_beyond, found["order"], int(found["bound"]))
    return lambda value: value is not None


def _is_beyond(order: str, bound: int, value: str | None) -> bool:
    try:
        number = int(value or "")
    except ValueError:
        return False
    return number > bound if order == ">" else number < bound


def _parse_fields(resource: Resource, text: str) -> tuple[FieldRequirement, ...]:
    requirements: list[FieldRequirement] = []
    at = 0
    while at < len(text):
        if (found := _FIELD.match(text, at)) is None:
            raise bad_request(f"invalid selector: '{text}'; can't understand '{text[at:]}'")
        label, operator, value = found[1].strip(), found[2], re.sub(r"\\(.)", r"\1", found[3])
        if (path := resource.fields.get(label)) is None:
            raise bad_request(f"field label not supported: {label}")
        requirements.append(FieldRequirement(path, value, equal=operator != "!="))
        at = found.end()
    return tuple(requirements)


_BOOLEAN_FIELDS: Final = frozenset(("unschedulable", "hostNetwork"))


Query = Mapping[str, str]

EXACT: Final = "Exact"
NOT_OLDER_THAN: Final = "NotOlderThan"
_LIST: Final = "ListOptions"
_MATCH: Final = "resourceVersionMatch"
_CONTINUE_VERSION: Final = "meta.k8s.io/v1"


@dataclass(frozen=True, slots=True)
class ListParameters:
    selector: Selector
    limit: int  # 0: no limit
    revision: int | None  # None: the most recent
    exact: bool
    after: tuple[str, str] | None  # the last key of the previous page


@dataclass(frozen=True, slots=True)
class WatchParameters:
    selector: Selector
    revision: int | None  # None: the current state, then changes
    bookmarks: bool
    initial_events: bool
    timeout_s: float


def list_parameters(resource: Resource, query: Query) -> ListParameters:
    selector = _selector(resource, query)
    limit = min(_number(query, "limit") or 0, limits.LIST_LIMIT_MAX)
    revision = _number(query, "resourceVersion")
    if query.get("sendInitialEvents"):
        why = not_allowed("sendInitialEvents", "sendInitialEvents is forbidden for list")
        raise invalid_options(_LIST, why)
    match = query.get(_MATCH, "")
    _check_match(match, revision)
    if token := query.get("continue", ""):
        if revision:
            raise bad_request("specifying resource version is not allowed when using continue")
        continued, after = _continued(token)
        return ListParameters(selector, limit, continued, exact=True, after=after)
    # Without a match, a page at a revision shows exactly that revision; a whole list may be newer.
    exact = match == EXACT or (not match and bool(limit) and bool(revision))
    return ListParameters(selector, limit, revision or None, exact=exact, after=None)


def watch_parameters(resource: Resource, query: Query) -> WatchParameters:
    selector = _selector(resource, query)
    revision = _number(query, "resourceVersion")
    timeout_s = _number(query, "timeoutSeconds")
    initial, match = query.get("sendInitialEvents", ""), query.get(_MATCH, "")
    if initial and match != NOT_OLDER_THAN:
        why = "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"
        raise invalid_options(_LIST, not_allowed(_MATCH, why))
    if not initial and match:
        why = "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided"
        raise invalid_options(_LIST, not_allowed(_MATCH, why))
    return WatchParameters(
        selector,
        revision or None,
        bookmarks=_is_true(query.get("allowWatchBookmarks", "")),
        initial_events=_is_true(initial),
        timeout_s=min(timeout_s or limits.WATCH_TIMEOUT_S, limits.WATCH_TIMEOUT_S_MAX),
    )


def is_dry_run(query: Query, options: str) -> bool:
    value = query.get("dryRun", "")
    if value not in ("", "All"):
        text = f'Unsupported value: ["{value}"]: supported values: "All"'
        raise invalid_options(options, Cause("dryRun", "FieldValueNotSupported", text))
    return value == "All"


def continue_token(revision: int, after: tuple[str, str]) -> str:
    token = {"v": _CONTINUE_VERSION, "rv": revision, "start": "/".join(after)}
    return base64.urlsafe_b64encode(to_json(token)).rstrip(b"=").decode()


def _selector(resource: Resource, query: Query) -> Selector:
    return parse(resource, query.get("labelSelector", ""), query.get("fieldSelector", ""))


def _number(query: Query, name: str) -> int | None:
    if not (text := query.get(name, "")):
        return None
    if not (text.isascii() and text.isdigit()) or len(text) > 19:
        problem = f'parsing "{text}": invalid syntax'
        if name != "resourceVersion":
            raise bad_request(f"strconv.ParseInt: {problem}")
        where = f'{name}: Invalid value: "{text}"'
        raise bad_request(f"invalid resource version: {where}: strconv.ParseUint: {problem}")
    return int(text)


def _is_true(text: str) -> bool:
    return text.lower() in ("1", "true")


def _check_match(match: str, revision: int | None) -> None:
    if match not in ("", EXACT, NOT_OLDER_THAN):
        supported = f'supported values: "{EXACT}", "{NOT_OLDER_THAN}", ""'
        text = f'Unsupported value: "{match}": {supported}'
        raise invalid_options(_LIST, Cause(_MATCH, "FieldValueNotSupported", text))
    if match and revision is None:
        why = "resourceVersionMatch is forbidden unless resourceVersion is provided"
        raise invalid_options(_LIST, not_allowed(_MATCH, why))
    if match == EXACT and revision == 0:
        why = 'resourceVersionMatch "exact" is forbidden for resourceVersion "0"'
        raise invalid_options(_LIST, not_allowed(_MATCH, why))


def _continued(token: str) -> tuple[int, tuple[str, str]]:
    """Read a continue token: the revision, and the key after which to go on."""
    wrong = bad_request("invalid continue token: continue key is not valid")
    if len(token) > limits.CONTINUE_CHARACTERS_MAX:
        raise wrong
    try:
        text = base64.urlsafe_b64decode(token + "=" * (-len(token) % 4))
        value = from_json(text, allow_inf_nan=False)
        revision, (namespace, separator, name) = value["rv"], value["start"].partition("/")
    except (ValueError, KeyError, TypeError, AttributeError):
        raise wrong from None
    if not separator or not isinstance(revision, int):
        raise wrong
    return revision, (namespace, name)
