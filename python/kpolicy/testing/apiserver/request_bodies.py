"""Bodies of requests by media type: JSON, YAML, or the protobuf that kubectl sends. Pure.

A body that cannot be read raises an `ApiError`.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any, Final

import yaml
from pydantic_core import from_json, to_json

from kpolicy.testing.apiserver.api_calls import Request
from kpolicy.testing.apiserver.protobuf_objects import from_protobuf
from kpolicy.testing.objects import failures, patches
from kpolicy.testing.objects.resource_types import Resource

PROTOBUF: Final = "application/vnd.kubernetes.protobuf"


def media_type(request: Request) -> str:
    return request.headers.get("content-type", "").partition(";")[0].strip().lower()


def decode(text: bytes) -> Any:
    """Read JSON. Raises a ValueError, also for text that is nested too deeply."""
    return from_json(text, allow_inf_nan=False, cache_strings="keys")


def body_of(resource: Resource, request: Request) -> Any:
    kind = media_type(request)
    if "yaml" in kind:
        return _from_yaml(request.body)
    if kind == PROTOBUF:
        read = from_protobuf(request.body)
        if read is None:
            raise failures.unsupported_media_type()
        return read
    if kind and not kind.endswith("json"):
        raise failures.unsupported_media_type()
    try:
        return decode(request.body)
    except ValueError as error:
        raise failures.bad_request(
            f"the object provided is unrecognized (must be of type {resource.kind}): "
            f"couldn't get version/kind; json parse error: {error}"
        ) from error


def patch_body(request: Request) -> Any:
    kind = media_type(request)
    if kind not in patches.KINDS:
        raise failures.unsupported_patch_type()
    if kind == patches.APPLY_PATCH:
        return _from_yaml(request.body)
    try:
        return decode(request.body)
    except ValueError as error:
        raise failures.bad_request("invalid JSON patch") from error


def _from_yaml(text: bytes) -> Any:
    # Clients that apply send JSON, which is valid YAML and is parsed a hundred times faster so.
    with suppress(ValueError):
        return decode(text)
    try:
        parsed: object = yaml.load(text, Loader=_PlainLoader)  # noqa: S506 (a safe loader)
        return decode(to_json(parsed))  # dates become text again, as in JSON
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        raise failures.bad_request(f"error parsing YAML: {error}") from error


class _PlainLoader(yaml.SafeLoader):
    """Refuses aliases: nine lines of them can describe a billion values."""

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        if self.check_event(yaml.AliasEvent):
            raise yaml.YAMLError("aliases are not taken")
        return super().compose_node(parent, index)
