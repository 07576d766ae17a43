"""The conformance data of CEL as cases, with the answers that an implementation should give.

Reads bindings, expected values and expected errors from the test files. Values have the JSON form
of docs/internals/expressions.md, so that types are compared too.
"""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kpolicy.policy.cel.lower import double_text
from kpolicy.policy.cel.types import DYN, Type, list_of, map_of, optional_of

from .textproto import Message, read

_SCALARS = {
    "BOOL": "bool",
    "INT64": "int",
    "UINT64": "uint",
    "DOUBLE": "double",
    "STRING": "string",
    "BYTES": "bytes",
}
_WELL_KNOWN = {"TIMESTAMP": "timestamp", "DURATION": "duration", "ANY": "dyn"}


class UnsupportedError(Exception):
    """The case needs protobuf messages or enums."""


@dataclass(frozen=True, slots=True)
class Case:
    file: str
    section: str
    name: str
    expression: str
    inputs: dict[str, Type]
    variables: dict[str, Any]
    # The JSON form of the value; None with `fails` set.
    expected: Any
    fails: bool
    check_only: bool
    checked: bool
    unsupported: str

    @property
    def id(self) -> str:
        return f"{self.file}/{self.section}/{self.name}"


def cases(folder: Path, file: str) -> Iterator[Case]:
    suite = read((folder / f"{file}.textproto").read_text(encoding="utf-8"))
    for section in suite.messages("section"):
        for test in section.messages("test"):
            yield _case(file, section.text("name"), test)


def _case(file: str, section: str, test: Message) -> Case:
    expression = test.text("expr")
    inputs: dict[str, Type] = {}
    variables: dict[str, Any] = {}
    expected: Any = True
    fails = bool(test.names() & {"eval_error", "any_eval_errors"})
    unsupported = ""
    try:
        _refuse_messages(test, expression)
        for declaration in test.messages("type_env"):
            ident = declaration.message("ident")
            if ident is None or (kind := ident.message("type")) is None:
                raise UnsupportedError("declares a function")
            inputs[declaration.text("name")] = _type(kind)
        for binding in test.messages("bindings"):
            inner = binding.message("value")
            value = inner.message("value") if inner is not None else None
            if value is None:
                raise UnsupportedError("binds an unknown")
            variables[binding.text("key")] = json_value(value)
        result = test.message("value")
        typed = test.message("typed_result")
        if typed is not None:
            result = typed.message("result")
        if result is not None:
            expected = json_value(result)
    except UnsupportedError as error:
        unsupported = str(error)
    return Case(
        file,
        section,
        test.text("name"),
        expression,
        inputs,
        variables,
        expected,
        fails,
        test.flag("check_only"),
        not test.flag("disable_check"),
        unsupported,
    )


_MESSAGE_MARKS = ("TestAllTypes", "NestedTestAllTypes", "google.protobuf.", "GlobalEnum", "proto.")


def _refuse_messages(test: Message, expression: str) -> None:
    for mark in _MESSAGE_MARKS:
        known = ("google.protobuf.Timestamp", "google.protobuf.Duration")
        bare = expression
        for name in known:
            if f"{name}{{" not in expression:
                bare = bare.replace(name, "")
        if mark in bare:
            raise UnsupportedError("protobuf message or enum")
    if test.text("container") or test.names() & {"unknown", "any_unknowns"}:
        raise UnsupportedError("container" if test.text("container") else "unknown")


def _type(kind: Message) -> Type:
    name, value = kind.fields[0]
    if name == "primitive" and isinstance(value, str):
        return Type(_SCALARS[value])
    if name == "well_known" and isinstance(value, str):
        return Type(_WELL_KNOWN[value])
    if name == "null":
        return Type("null")
    if name in ("dyn", "wrapper"):
        return DYN
    if name == "list_type" and isinstance(value, Message):
        inner = value.message("elem_type")
        return list_of(_type(inner) if inner and inner.fields else DYN)
    if name == "map_type" and isinstance(value, Message):
        key, item = value.message("key_type"), value.message("value_type")
        return map_of(_type(key) if key else DYN, _type(item) if item else DYN)
    if name == "abstract_type" and isinstance(value, Message):
        parameters = value.messages("parameter_types")
        return optional_of(_type(parameters[0])) if parameters else DYN
    raise UnsupportedError(f"declares a {name}")


def json_value(message: Message) -> Any:
    """A `cel.expr.Value` in our JSON form."""
    name, value = message.fields[0]
    if name == "null_value":
        return None
    if name == "list_value" and isinstance(value, Message):
        return [json_value(item) for item in value.messages("values")]
    if name == "map_value" and isinstance(value, Message):
        pairs = []
        for entry in value.messages("entries"):
            key, item = entry.message("key"), entry.message("value")
            assert key is not None
            assert item is not None
            pairs.append([json_value(key), json_value(item)])
        return {"map": pairs}
    if name == "object_value" and isinstance(value, Message):
        return _object(value)
    if name == "string_value" and isinstance(value, bytes):
        return value.decode()
    if name == "bytes_value" and isinstance(value, bytes):
        return {"bytes": base64.b64encode(value).decode()}
    if name == "type_value" and isinstance(value, bytes):
        return {"type": value.decode()}
    assert isinstance(value, str), (name, value)
    if name == "bool_value":
        return value == "true"
    if name == "int64_value":
        return int(value, 0)
    if name == "uint64_value":
        return {"uint": int(value, 0)}
    if name == "double_value":
        return {"double": float(value)}
    raise UnsupportedError(name)


def _object(value: Message) -> Any:
    (url, inner), *_ = value.fields
    if isinstance(inner, Message) and url.endswith("Timestamp]"):
        return {"timestamp": (int(_number(inner, "seconds")), int(_number(inner, "nanos")))}
    if isinstance(inner, Message) and url.endswith("Duration]"):
        return {"duration": (int(_number(inner, "seconds")), int(_number(inner, "nanos")))}
    raise UnsupportedError("protobuf message or enum")


def _number(message: Message, name: str) -> str:
    found = message.single(name)
    return found if isinstance(found, str) else "0"


def same(expected: Any, actual: Any) -> bool:
    """Equal values of equal types; NaN is NaN, maps compare without order."""
    return bool(normal(expected) == normal(actual))


def normal(value: Any) -> Any:
    if isinstance(value, bool) or value is None or isinstance(value, str):
        return value
    if isinstance(value, int):
        return ("int", value)
    if isinstance(value, list):
        return ("list", *(normal(item) for item in value))
    ((tag, body),) = value.items()
    if tag == "double":
        number = float(body) if not isinstance(body, str) else _double(body)
        return ("double", "nan" if math.isnan(number) else number)
    if tag == "map":
        return ("map", tuple(sorted(json.dumps([normal(k), normal(v)]) for k, v in body)))
    if tag in ("timestamp", "duration") and isinstance(body, tuple):
        return (tag, _text_of(tag, *body))
    if isinstance(body, list):
        return (tag, *(normal(item) for item in body))
    return (tag, body)


def _double(text: str) -> float:
    return float(text.replace("Infinity", "inf"))


def _text_of(tag: str, seconds: int, nanos: int) -> str:
    fraction = f".{abs(nanos):09d}".rstrip("0") if nanos else ""
    if tag == "duration":
        sign = "-" if seconds < 0 or nanos < 0 else ""
        return f"{sign}{abs(seconds)}{fraction}s"
    from datetime import UTC, datetime, timedelta

    at = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=seconds)
    return f"{at.year:04d}-{at:%m-%dT%H:%M:%S}{fraction}Z"


def variable_json(value: Any) -> Any:
    """A bound value as the evaluator takes it."""
    if isinstance(value, list):
        return [variable_json(item) for item in value]
    if not isinstance(value, dict):
        return value
    ((tag, body),) = value.items()
    if tag == "double":
        return {tag: double_text(body)}
    if tag == "map":
        return {tag: [[variable_json(key), variable_json(item)] for key, item in body]}
    if isinstance(body, tuple):
        return {tag: _text_of(tag, *body)}
    return value
