"""Objects in the protobuf that `kubectl create` and client-go send: the kinds and fields that
kubectl writes by itself. Pure.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

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


def _port(held: Any, value: _Value) -> int | str:
    """0 means none, which is left out as empty text is."""
    return _number(held, value) or ""


_SELECTOR_TERM: Final = _Message(
    {1: ("key", _text), 2: ("operator", _text), 3: ("values", _list_of(_text))}
)
_SELECTOR: Final = _Message(
    {1: ("matchLabels", _map_of(_text)), 2: ("matchExpressions", _list_of(_SELECTOR_TERM))}
)
_QUANTITY: Final = _Message({1: ("string", _text)})


def _quantity(held: Any, value: _Value) -> str:
    return str(_QUANTITY(None, value).get("string", "0"))


def _number_or_text(held: Any, value: _Value) -> int | str:
    """IntOrString: which of the two it is, the number, the text."""
    parts = dict(_fields(_bytes(value)))
    is_text = _truth(None, parts.get(1, 0))
    return _text(None, parts.get(3, b"")) if is_text else _number(None, parts.get(2, 0))


_RESOURCES: Final = _Message(
    {1: ("limits", _map_of(_quantity)), 2: ("requests", _map_of(_quantity))}
)
_CONTAINER: Final = _Message(
    {
        1: ("name", _text),
        2: ("image", _text),
        3: ("command", _list_of(_text)),
        4: ("args", _list_of(_text)),
        5: ("workingDir", _text),
        6: (
            "ports",
            _list_of(
                _Message(
                    {
                        1: ("name", _text),
                        2: ("hostPort", _port),
                        3: ("containerPort", _number),
                        4: ("protocol", _text),
                    }
                )
            ),
        ),
        7: ("env", _list_of(_Message({1: ("name", _text), 2: ("value", _text)}))),
        8: ("resources", _RESOURCES),
        14: ("imagePullPolicy", _text),
    }
)
_TOLERATION: Final = _Message(
    {
        1: ("key", _text),
        2: ("operator", _text),
        3: ("value", _text),
        4: ("effect", _text),
        5: ("tolerationSeconds", _number),
    }
)
# What `kubectl create` can write of a pod. Affinity and volumes come from files, as JSON.
_POD_SPEC: Final = _Message(
    {
        2: ("containers", _list_of(_CONTAINER)),
        3: ("restartPolicy", _text),
        4: ("terminationGracePeriodSeconds", _number),
        6: ("dnsPolicy", _text),
        7: ("nodeSelector", _map_of(_text)),
        8: ("serviceAccountName", _text),
        10: ("nodeName", _text),
        19: ("schedulerName", _text),
        22: ("tolerations", _list_of(_TOLERATION)),
        24: ("priorityClassName", _text),
    }
)
_TEMPLATE: Final = _Message({1: ("metadata", _METADATA), 2: ("spec", _POD_SPEC)})
_SERVICE_PORT: Final = _Message(
    {
        1: ("name", _text),
        2: ("protocol", _text),
        3: ("port", _number),
        4: ("targetPort", _number_or_text),
        5: ("nodePort", _port),
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
    "Deployment": _Message(
        {
            1: ("metadata", _METADATA),
            2: (
                "spec",
                _Message(
                    {
                        1: ("replicas", _number),
                        2: ("selector", _SELECTOR),
                        3: ("template", _TEMPLATE),
                    }
                ),
            ),
        }
    ),
    "Service": _Message(
        {
            1: ("metadata", _METADATA),
            2: (
                "spec",
                _Message(
                    {
                        1: ("ports", _list_of(_SERVICE_PORT)),
                        2: ("selector", _map_of(_text)),
                        3: ("clusterIP", _text),
                        4: ("type", _text),
                        10: ("externalName", _text),
                    }
                ),
            ),
        }
    ),
    "PodDisruptionBudget": _Message(
        {
            1: ("metadata", _METADATA),
            2: (
                "spec",
                _Message(
                    {
                        1: ("minAvailable", _number_or_text),
                        2: ("selector", _SELECTOR),
                        3: ("maxUnavailable", _number_or_text),
                    }
                ),
            ),
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


def from_protobuf(body: bytes) -> dict[str, Any] | None:
    """The object; None for malformed bytes and other kinds."""
    try:
        if body.startswith(_MAGIC):
            envelope = _ENVELOPE(None, body[len(_MAGIC) :])
            type_ = envelope["type"]
            return {**type_, **_KINDS[type_["kind"]](None, envelope.get("raw", b""))}
    except (ValueError, KeyError):
        pass  # ValueError also for text that is not UTF-8
    return None


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
