"""Kubernetes' protobuf encoding, of the few kinds kubectl creates with it.

Owns reading `application/vnd.kubernetes.protobuf` bodies of namespaces, config maps, priority
classes and delete options into the JSON form (`kubectl create namespace|configmap|priorityclass`
send nothing else). Pure; arbitrary bytes give None. Must not know what becomes of the objects.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any, Final

MEDIA_TYPE: Final = "application/vnd.kubernetes.protobuf"
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
    """Field number -> name in JSON and type; what is not here is skipped."""

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
    """The object; None when the bytes are none, or of a kind not read here."""
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
    except ValueError:  # also what is not UTF-8
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
            text = _bytes(value).decode()
            if text:
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
