"""The body of a request, by its media type.

Owns reading JSON, YAML and protobuf, and the refusals of what is none of them. Pure. Must not know
what is done with the value.
"""

from __future__ import annotations

import yaml

from kpolicy.testing import failures, patches, protobuf
from kpolicy.testing.encoding import Json, decode, encode
from kpolicy.testing.failures import Failure
from kpolicy.testing.resources import Resource
from kpolicy.testing.wire import Request


def media_type(request: Request) -> str:
    return request.headers.get("content-type", "").partition(";")[0].strip().lower()


def body_of(resource: Resource, request: Request) -> Json | Failure:
    kind = media_type(request)
    if "yaml" in kind:
        return _from_yaml(request.body)
    if kind == protobuf.MEDIA_TYPE:
        object_ = protobuf.from_protobuf(request.body)
        return failures.unsupported_media_type() if object_ is None else object_
    if kind and not kind.endswith("json"):
        return failures.unsupported_media_type()
    value = decode(request.body)
    if isinstance(value, ValueError):
        return failures.bad_request(
            f"the object provided is unrecognized (must be of type {resource.kind}): "
            f"couldn't get version/kind; json parse error: {value}"
        )
    return value


def patch_body(request: Request) -> Json | Failure:
    kind = media_type(request)
    if kind not in patches.KINDS:
        return failures.unsupported_patch_type()
    if kind == patches.APPLY_PATCH:
        return _from_yaml(request.body)
    value = decode(request.body)
    if isinstance(value, ValueError):
        return failures.bad_request(f"error decoding patch: {value}")
    return value


def _from_yaml(text: bytes) -> Json | Failure:
    value = decode(text)  # appliers send JSON, which is YAML that reads a hundred times faster
    if not isinstance(value, ValueError):
        return value
    try:
        parsed: object = yaml.load(text, Loader=_PlainLoader)  # noqa: S506 (a safe loader)
        # Dates become text again, as JSON has it.
        value = decode(encode(parsed))
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        return failures.bad_request(f"error parsing YAML: {error}")
    if isinstance(value, ValueError):
        return failures.bad_request(f"error parsing YAML: {value}")
    return value


class _PlainLoader(yaml.SafeLoader):
    """Without aliases: nine lines of them can say a billion things."""

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        if self.check_event(yaml.AliasEvent):
            raise yaml.YAMLError("aliases are not taken")
        return super().compose_node(parent, index)
