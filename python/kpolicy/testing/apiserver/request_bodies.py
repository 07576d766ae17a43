"""Bodies of requests by media type: JSON, YAML, or the protobuf that kubectl sends. Pure.

A body that cannot be read is a `Failure` with the API server's message.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any, Final

import yaml

from kpolicy.testing.apiserver.api_calls import Request
from kpolicy.testing.objects import failures, patches
from kpolicy.testing.objects.encoding import Json, decode, encode
from kpolicy.testing.objects.failures import Failure
from kpolicy.testing.objects.resource_types import Resource

PROTOBUF: Final = "application/vnd.kubernetes.protobuf"
_MAGIC: Final = b"k8s\x00"
_VARINT_BYTES_MAX: Final = 10
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_FIXED_LENGTHS: Final = {_FIXED64: 8, _FIXED32: 4}


class _Kind(Enum):
    TEXT = auto()
    NUMBER = auto()
    TRUTH = auto()
    TEXTS = auto()
    TEXT_MAP = auto()
    BYTES_MAP = auto()


@dataclass(frozen=True, slots=True)
class _Message:
    """Field number -> name in JSON and type; other fields are skipped."""

    fields: Mapping[int, tuple[str, _Kind | _Message]]
    repeated: bool = False


_TYPE: Final = _Message({1: ("apiVersion", _Kind.TEXT), 2: ("kind", _Kind.TEXT)})
_OWNER: Final = _Message(
    {
        1: ("kind", _Kind.TEXT),
        3: ("name", _Kind.TEXT),
        4: ("uid", _Kind.TEXT),
        5: ("apiVersion", _Kind.TEXT),
        6: ("controller", _Kind.TRUTH),
        7: ("blockOwnerDeletion", _Kind.TRUTH),
    },
    repeated=True,
)
_METADATA: Final = _Message(
    {
        1: ("name", _Kind.TEXT),
        2: ("generateName", _Kind.TEXT),
        3: ("namespace", _Kind.TEXT),
        5: ("uid", _Kind.TEXT),
        6: ("resourceVersion", _Kind.TEXT),
        11: ("labels", _Kind.TEXT_MAP),
        12: ("annotations", _Kind.TEXT_MAP),
        13: ("ownerReferences", _OWNER),
        14: ("finalizers", _Kind.TEXTS),
    }
)
_KINDS: Final[Mapping[str, _Message]] = {
    "Namespace": _Message(
        {1: ("metadata", _METADATA), 2: ("spec", _Message({1: ("finalizers", _Kind.TEXTS)}))}
    ),
    "ConfigMap": _Message(
        {
            1: ("metadata", _METADATA),
            2: ("data", _Kind.TEXT_MAP),
            3: ("binaryData", _Kind.BYTES_MAP),
            4: ("immutable", _Kind.TRUTH),
        }
    ),
    "PriorityClass": _Message(
        {
            1: ("metadata", _METADATA),
            2: ("value", _Kind.NUMBER),
            3: ("globalDefault", _Kind.TRUTH),
            4: ("description", _Kind.TEXT),
            5: ("preemptionPolicy", _Kind.TEXT),
        }
    ),
    "DeleteOptions": _Message(
        {
            1: ("gracePeriodSeconds", _Kind.NUMBER),
            2: (
                "preconditions",
                _Message({1: ("uid", _Kind.TEXT), 2: ("resourceVersion", _Kind.TEXT)}),
            ),
            4: ("propagationPolicy", _Kind.TEXT),
            5: ("dryRun", _Kind.TEXTS),
        }
    ),
}


def from_protobuf(body: bytes) -> dict[str, Any] | None:
    """Return the object; None if the bytes are malformed or of another kind."""
    if not body.startswith(_MAGIC):
        return None
    try:
        type_: dict[str, Any] = {}
        content = b""
        for number, value in _fields(body[len(_MAGIC) :]):
            if number == 1:
                type_ = _read(_TYPE, _bytes(value))
            elif number == 2:
                content = _bytes(value)
        message = _KINDS.get(type_.get("kind", ""))
        return None if message is None else {**type_, **_read(message, content)}
    except ValueError:  # also for text that is not UTF-8
        return None


def _read(message: _Message, data: bytes) -> dict[str, Any]:
    result: dict[str, Any] = {}
    for number, value in _fields(data):
        if number not in message.fields:
            continue
        name, kind = message.fields[number]
        if isinstance(kind, _Message):
            inner = _read(kind, _bytes(value))
            if kind.repeated:
                result.setdefault(name, []).append(inner)
            else:
                result[name] = inner
            continue
        _set_plain(result, name, kind, value)
    return result


def _set_plain(result: dict[str, Any], name: str, kind: _Kind, value: int | bytes) -> None:
    match kind:
        case _Kind.TEXT:
            if text := _bytes(value).decode():
                result[name] = text
        case _Kind.NUMBER:
            number = _number(value)
            result[name] = number - (1 << 64) if number >> 63 else number
        case _Kind.TRUTH:
            result[name] = bool(_number(value))
        case _Kind.TEXTS:
            result.setdefault(name, []).append(_bytes(value).decode())
        case _Kind.TEXT_MAP | _Kind.BYTES_MAP:
            entry = dict(_fields(_bytes(value)))
            key, content = _bytes(entry.get(1, b"")).decode(), _bytes(entry.get(2, b""))
            text = (
                content.decode() if kind is _Kind.TEXT_MAP else base64.b64encode(content).decode()
            )
            result.setdefault(name, {})[key] = text


def _fields(data: bytes) -> Iterator[tuple[int, int | bytes]]:
    at = 0
    while at < len(data):
        key, at = _varint(data, at)
        wire = key & 7
        if wire == _VARINT:
            number, at = _varint(data, at)
            yield key >> 3, number
            continue
        if wire == _BYTES:
            length, at = _varint(data, at)
        elif wire in _FIXED_LENGTHS:
            length = _FIXED_LENGTHS[wire]
        else:
            raise ValueError("unknown wire type")
        if at + length > len(data):
            raise ValueError("cut off")
        yield key >> 3, data[at : at + length]
        at += length


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = 0
    for shift, byte in enumerate(data[at : at + _VARINT_BYTES_MAX]):
        value |= (byte & 127) << (7 * shift)
        if byte < 128:
            return value & ((1 << 64) - 1), at + shift + 1
    raise ValueError("varint cut off")


def _bytes(value: int | bytes) -> bytes:
    if isinstance(value, int):
        raise ValueError("a number where bytes belong")
    return value


def _number(value: int | bytes) -> int:
    if not isinstance(value, int):
        raise ValueError("bytes where a number belongs")
    return value


def media_type(request: Request) -> str:
    return request.headers.get("content-type", "").partition(";")[0].strip().lower()


def body_of(resource: Resource, request: Request) -> Json | Failure:
    kind = media_type(request)
    if "yaml" in kind:
        return _from_yaml(request.body)
    if kind == PROTOBUF:
        object_ = from_protobuf(request.body)
        return failures.unsupported_media_type() if object_ is None else object_
    if kind and not kind.endswith("json"):
        return failures.unsupported_media_type()
    if isinstance(value := decode(request.body), ValueError):
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
    if isinstance(value := decode(request.body), ValueError):
        return failures.bad_request(f"error decoding patch: {value}")
    return value


def _from_yaml(text: bytes) -> Json | Failure:
    value = decode(
        text
    )  # clients that apply send JSON, which is valid YAML and is parsed a hundred times faster so
    if not isinstance(value, ValueError):
        return value
    try:
        parsed: object = yaml.load(text, Loader=_PlainLoader)  # noqa: S506 (a safe loader)
        # dates become text again, as in JSON
        value = decode(encode(parsed))
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        return failures.bad_request(f"error parsing YAML: {error}")
    if isinstance(value, ValueError):
        return failures.bad_request(f"error parsing YAML: {value}")
    return value


class _PlainLoader(yaml.SafeLoader):
    """Refuses aliases: nine lines of them can describe a billion values."""

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        if self.check_event(yaml.AliasEvent):
            raise yaml.YAMLError("aliases are not taken")
        return super().compose_node(parent, index)
