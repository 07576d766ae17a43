"""Bodies of requests by media type: JSON, YAML, or the protobuf that kubectl sends. Pure.

A body that cannot be read raises an `ApiError`.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import yaml
from pydantic_core import from_json, to_json

from kpolicy.testing.apiserver.api_calls import Request
from kpolicy.testing.objects import failures, patches
from kpolicy.testing.objects.resource_types import Resource

PROTOBUF: Final = "application/vnd.kubernetes.protobuf"
_MAGIC: Final = b"k8s\x00"
_VARINT_BYTES_MAX: Final = 10
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_FIXED_LENGTHS: Final = {_FIXED64: 8, _FIXED32: 4}

_Value: TypeAlias = int | bytes
# Takes what the field holds so far (None at first) and one value.
_Read: TypeAlias = Callable[[Any, _Value], Any]


@dataclass(frozen=True, slots=True)
class _Message:
    """Field number -> name in JSON, and how to read it. Other fields and empty text are skipped."""

    fields: Mapping[int, tuple[str, _Read]]

    def __call__(self, held: Any, value: _Value) -> dict[str, Any]:
        result: dict[str, Any] = {}
        for number, inner in _fields(_bytes(value)):
            if number in self.fields:
                name, read = self.fields[number]
                result[name] = read(result.get(name), inner)
        return {name: field for name, field in result.items() if field != ""}


def _text(held: Any, value: _Value) -> str:
    return _bytes(value).decode()


def _number(held: Any, value: _Value) -> int:
    if not isinstance(value, int):
        raise ValueError("bytes where a number belongs")
    return value - (1 << 64) if value >> 63 else value


def _truth(held: Any, value: _Value) -> bool:
    return bool(_number(held, value))


def _base64(held: Any, value: _Value) -> str:
    return base64.b64encode(_bytes(value)).decode()


def _raw(held: Any, value: _Value) -> bytes:
    return _bytes(value)


def _list_of(read: _Read) -> _Read:
    def add(held: Any, value: _Value) -> list[Any]:
        elements: list[Any] = held or []
        elements.append(read(None, value))
        return elements

    return add


def _map_of(read: _Read) -> _Read:
    def add(held: Any, value: _Value) -> dict[str, str]:
        pairs: dict[str, str] = held or {}
        entry = dict(_fields(_bytes(value)))
        pairs[_text(None, entry.get(1, b""))] = read(None, entry.get(2, b""))
        return pairs

    return add


_TYPE: Final = _Message({1: ("apiVersion", _text), 2: ("kind", _text)})
_ENVELOPE: Final = _Message({1: ("type", _TYPE), 2: ("raw", _raw)})
_OWNER: Final = _Message(
    {
        1: ("kind", _text),
        3: ("name", _text),
        4: ("uid", _text),
        5: ("apiVersion", _text),
        6: ("controller", _truth),
        7: ("blockOwnerDeletion", _truth),
    }
)
_METADATA: Final = _Message(
    {
        1: ("name", _text),
        2: ("generateName", _text),
        3: ("namespace", _text),
        5: ("uid", _text),
        6: ("resourceVersion", _text),
        11: ("labels", _map_of(_text)),
        12: ("annotations", _map_of(_text)),
        13: ("ownerReferences", _list_of(_OWNER)),
        14: ("finalizers", _list_of(_text)),
    }
)
_KINDS: Final[Mapping[str, _Message]] = {
    "Namespace": _Message(
        {1: ("metadata", _METADATA), 2: ("spec", _Message({1: ("finalizers", _list_of(_text))}))}
    ),
    "ConfigMap": _Message(
        {
            1: ("metadata", _METADATA),
            2: ("data", _map_of(_text)),
            3: ("binaryData", _map_of(_base64)),
            4: ("immutable", _truth),
        }
    ),
    "PriorityClass": _Message(
        {
            1: ("metadata", _METADATA),
            2: ("value", _number),
            3: ("globalDefault", _truth),
            4: ("description", _text),
            5: ("preemptionPolicy", _text),
        }
    ),
    "DeleteOptions": _Message(
        {
            1: ("gracePeriodSeconds", _number),
            2: (
                "preconditions",
                _Message({1: ("uid", _text), 2: ("resourceVersion", _text)}),
            ),
            4: ("propagationPolicy", _text),
            5: ("dryRun", _list_of(_text)),
        }
    ),
}


def from_protobuf(body: bytes) -> dict[str, Any]:
    """Return the object. Malformed bytes and other kinds are an unsupported media type."""
    try:
        if body.startswith(_MAGIC):
            envelope = _ENVELOPE(None, body[len(_MAGIC) :])
            type_ = envelope["type"]
            return {**type_, **_KINDS[type_["kind"]](None, envelope.get("raw", b""))}
    except (ValueError, KeyError):
        pass  # ValueError also for text that is not UTF-8
    raise failures.unsupported_media_type()


def _fields(data: bytes) -> Iterator[tuple[int, _Value]]:
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


def _bytes(value: _Value) -> bytes:
    if isinstance(value, int):
        raise ValueError("a number where bytes belong")
    return value


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
        return from_protobuf(request.body)
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
        raise failures.bad_request(f"error decoding patch: {error}") from error


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
