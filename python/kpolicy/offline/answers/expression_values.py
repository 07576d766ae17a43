"""Values of expressions and of all their parts in JSON: the exact form, the plain form, and CEL.

The exact form is the engine's, described in docs/internals/expressions.md. The plain form has only
JSON's own types.
"""

from __future__ import annotations

import base64
import binascii
import json
import math
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final, TypeAlias

from kpolicy.diagnostics import Span
from kpolicy.policy.cel.types import INT_MAX, INT_MIN, UINT_MAX
from kpolicy.policy.quantities import read_quantity
from kpolicy.quick_dataclass import dataclass

# A value in the exact form: JSON in which everything without a JSON type of its own is tagged.
Exact: TypeAlias = Any

_TIME: Final = re.compile(r"\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(?:\.\d+)?(?:[Zz]|[+-]\d\d:\d\d)\Z")
_DURATION: Final = re.compile(r"[+-]?(?:0|(?:(?:\d+(?:\.\d*)?|\.\d+)(?:ns|us|µs|ms|s|m|h))+)\Z")
_TYPES: Final = frozenset(
    (
        "bool",
        "int",
        "uint",
        "double",
        "string",
        "bytes",
        "list",
        "map",
        "null_type",
        "type",
        "optional_type",
        "google.protobuf.Timestamp",
        "google.protobuf.Duration",
    )
)
# Values that are written as a text.
_FORMS: Final = {
    "type": re.compile(rf"(?:{'|'.join(map(re.escape, _TYPES))})\Z"),
    "timestamp": _TIME,
    "duration": _DURATION,
    "selector": re.compile(""),
}
_NOT_FINITE: Final = frozenset(("NaN", "Infinity", "-Infinity"))


class NotAValueError(ValueError):
    """A variable that is not a value of the language."""


def plain(exact: Exact) -> Any:
    """The value as JSON without tags, by protobuf's rules: text for bytes, times, what is not
    finite, and for keys of maps; an optional is a list of none or one."""
    if isinstance(exact, list):
        return [plain(item) for item in exact]
    if not isinstance(exact, dict):
        return exact
    ((tag, body),) = exact.items()
    match tag:
        case "double":
            return body if body in _NOT_FINITE else float(body)
        case "map":
            keys = [_key(key) for key, _ in body]
            if len(set(keys)) < len(keys):
                return [[plain(key), plain(value)] for key, value in body]
            return {key: plain(value) for key, (_, value) in zip(keys, body, strict=True)}
        case "optional":
            return [plain(item) for item in body]
    return body


def _key(exact: Exact) -> str:
    value = plain(exact)
    return {True: "true", False: "false"}[value] if isinstance(value, bool) else str(value)


def is_plain_enough(exact: Exact) -> bool:
    """Whether the plain form and the name of the type are the whole value."""
    if not isinstance(exact, dict):
        return _is_plain(exact)
    ((tag, body),) = exact.items()
    return _is_plain(body) if tag == "optional" else tag != "map" or _is_plain(exact)


def _is_plain(exact: Exact) -> bool:
    """Whether the plain form is read back as the same value, without a type beside it."""
    if isinstance(exact, list):
        return all(map(_is_plain, exact))
    if not isinstance(exact, dict):
        return True
    ((tag, body),) = exact.items()
    if tag == "double":
        return body not in _NOT_FINITE
    if tag != "map":
        return False
    strings = all(isinstance(key, str) for key, _ in body)
    # A map whose only key is a tag would be read as a tagged value.
    tagged = len(body) == 1 and _tagged(*next(iter(plain(exact).items()))) is not None
    return strings and not tagged and all(_is_plain(value) for _, value in body)


def exact_of(value: Any) -> Exact:
    """A variable as JSON: plain, in the exact form, or as CEL's own `Value` in JSON.

    Raises `NotAValueError`."""
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, int):
        if INT_MIN <= value <= INT_MAX:
            return value
        if 0 <= value <= UINT_MAX:
            return {"uint": value}
        raise NotAValueError(f"{value} is neither an int nor a uint")
    if isinstance(value, float):
        return {"double": _double_text(value)}
    if isinstance(value, (list, tuple)):
        return [exact_of(item) for item in value]
    if not isinstance(value, Mapping):
        raise NotAValueError(f"a {type(value).__name__} is not a value")
    if len(value) == 1:
        tagged = _tagged(*next(iter(value.items())))
        if tagged is not None:
            return tagged[0]
    return {"map": [[str(key), exact_of(item)] for key, item in value.items()]}


def _double_text(value: float) -> str:
    return "NaN" if math.isnan(value) else repr(value).replace("inf", "Infinity")


def _tagged(tag: str, body: Any) -> tuple[Exact] | None:
    """The value of an object with one key, if its body has the form of the tag."""
    return _in_form(tag, body) or _protobuf(tag, body)


def _in_form(tag: str, body: Any) -> tuple[Exact] | None:
    match tag, body:
        case "uint", int() if not isinstance(body, bool) and 0 <= body <= UINT_MAX:
            return ({tag: body},)
        case "double", _ if (text := _read_double(body)) is not None:
            return ({tag: text},)
        case "bytes", str() if _is_base64(body):
            return ({tag: body},)
        case "map", list() if all(isinstance(entry, list) and len(entry) == 2 for entry in body):
            return ({tag: [[exact_of(key), exact_of(value)] for key, value in body]},)
        case "optional", list() if len(body) <= 1:
            return ({tag: [exact_of(item) for item in body]},)
        case "quantity", str():
            return ({tag: body},) if read_quantity(body) is not None else None
        case (("type" | "timestamp" | "duration" | "selector"), str()):
            return ({tag: body},) if _FORMS[tag].match(body) else None
    return None


def _read_double(body: Any) -> str | None:
    if isinstance(body, bool) or not isinstance(body, (int, float, str)):
        return None
    try:
        return _double_text(float(body))
    except (ValueError, OverflowError):
        return None


def _is_base64(body: str) -> bool:
    try:
        base64.b64decode(body, validate=True)
    except (binascii.Error, ValueError):
        return False
    return True


def _protobuf(tag: str, body: Any) -> tuple[Exact] | None:
    """A `cel.expr.Value` as protobuf writes it in JSON."""
    match tag, body:
        case "nullValue", _:
            return (None,)
        case ("boolValue", bool()) | ("stringValue", str()):
            return (body,)
        case ("int64Value", int() | str()) | ("uint64Value", int() | str()):
            return _integer(tag, body)
        case "doubleValue", _:
            return _in_form("double", body)
        case "bytesValue", str():
            return _in_form("bytes", body)
        case "typeValue", str():
            return ({"type": body},)
        case "listValue", Mapping():
            return ([exact_of(item) for item in body.get("values", [])],)
        case "mapValue", Mapping():
            entries = body.get("entries", [])
            return (
                {"map": [[exact_of(entry["key"]), exact_of(entry["value"])] for entry in entries]},
            )
        case "objectValue", {"@type": str(url), "value": str(text)}:
            kind = url.rpartition(".")[2].lower()
            return _in_form(kind, text) if kind in ("timestamp", "duration") else None
    return None


def _integer(tag: str, body: int | str) -> tuple[Exact] | None:
    try:
        number = int(body)
    except ValueError:
        return None
    return (number,) if tag == "int64Value" else _in_form("uint", number)


def written(exact: Exact) -> str:
    """The value as CEL writes it."""
    if exact is None or isinstance(exact, int):
        return json.dumps(exact)
    if isinstance(exact, str):
        return _quoted(exact)
    if isinstance(exact, list):
        return f"[{', '.join(map(written, exact))}]"
    ((tag, body),) = exact.items()
    match tag:
        case "uint":
            return f"{body}u"
        case "double":
            return f"double({_quoted(body)})" if body in _NOT_FINITE else str(body)
        case "bytes":
            return "b" + _bytes_quoted(base64.b64decode(body))
        case "map":
            return f"{{{', '.join(f'{written(k)}: {written(v)}' for k, v in body)}}}"
        case "optional":
            return f"optional.of({written(body[0])})" if body else "optional.none()"
        case "type" | "object":
            return str(body)
    return f"{tag}({_quoted(body)})"


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + "".join(c if c.isprintable() else _escape(c) for c in escaped) + '"'


def _escape(character: str) -> str:
    short = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}.get(character)
    return short or (
        f"\\u{ord(character):04x}" if ord(character) < 2**16 else f"\\U{ord(character):08x}"
    )


def _bytes_quoted(data: bytes) -> str:
    shown = (chr(b) if 32 <= b < 127 and b not in b'\\"' else f"\\x{b:02x}" for b in data)
    return '"' + "".join(shown) + '"'


_VARIABLES: Final = "variables."
_PARAMS: Final = "params."
_USE: Final = re.compile(r"\bvariables\s*\.\s*([A-Za-z_][A-Za-z0-9_]*)")


@dataclass(frozen=True, slots=True)
class Outcome:
    """A value with the name of its type, or an error."""

    type: str = ""
    exact: Exact = None
    code: str = ""
    message: str = ""

    def line(self) -> dict[str, Any]:
        if self.code:
            return {"error": {"code": self.code, "message": self.message}}
        line: dict[str, Any] = {"type": self.type, "value": plain(self.exact)}
        return line if is_plain_enough(self.exact) else {**line, "exact": self.exact}


@dataclass(frozen=True, slots=True)
class Step:
    """One part. `span` is a place in the expression or, below a variable, in the variable's text.
    `count` is how often the part was evaluated: 0 if it was not needed, and more than 1 in a loop.
    `outcomes` has the first results."""

    text: str
    span: Span
    count: int
    outcomes: tuple[Outcome, ...]
    children: tuple[Step, ...]

    def line(self) -> dict[str, Any]:
        line: dict[str, Any] = {
            "expression": self.text,
            "start": self.span.start,
            "end": self.span.end,
        }
        if self.count == 1:
            line |= self.outcomes[0].line()
        else:
            line["count"] = self.count
            if self.outcomes:
                line["results"] = [outcome.line() for outcome in self.outcomes]
        if self.children:
            line["children"] = [child.line() for child in self.children]
        return line


def variable_name(within: str) -> str:
    """`variables.rack`, as spans of the IR name the text they are of, as `rack`."""
    return within.removeprefix(_VARIABLES)


def used_variables(text: str) -> Iterator[tuple[str, Span]]:
    """The variables that a text names, and where."""
    return ((use.group(1), Span(use.start(), use.end())) for use in _USE.finditer(text))


def steps(
    text: str, ir: Mapping[str, Any], trace: Mapping[str, Any], variables: Mapping[str, str]
) -> Step:
    """The whole expression with its parts, except literals. `variables` are the texts of the
    variables that it may use."""
    return _Steps(text, ir, trace, variables).whole()


@dataclass(frozen=True, slots=True)
class _Steps:
    text: str
    ir: Mapping[str, Any]
    trace: Mapping[str, Any]
    variables: Mapping[str, str]

    def whole(self) -> Step:
        root = self.ir["root"]
        _, within = self._place(root)
        return self._use(root, "", Span(0, len(self.text))) if within else self._step(root)

    def _step(self, node: int) -> Step:
        span, within = self._place(node)
        text = self._text(within)[span.start : span.end]
        return self._made(node, text, span, tuple(self._children(node, span, within)))

    def _made(self, node: int, text: str, span: Span, children: tuple[Step, ...]) -> Step:
        seen = self.trace.get(str(node), {"count": 0, "outcomes": []})
        outcomes = tuple(map(_outcome, seen["outcomes"]))
        return Step(text, span, seen["count"], outcomes, children)

    def _use(self, node: int, outer: str, holder: Span) -> Step:
        """A variable where it is used: its value, and how its own text was evaluated."""
        _, within = self._place(node)
        uses = [
            span
            for name, span in used_variables(self._text(outer))
            if name == variable_name(within) and holder.start <= span.start < holder.end
        ]
        return self._made(node, within, uses[0] if uses else holder, (self._step(node),))

    def _children(self, node: int, span: Span, within: str) -> list[Step]:
        found: list[Step] = []
        for arg in self.ir["nodes"][node].get("args", ()):
            if self._place(arg)[1] != within:
                found.append(self._use(arg, within, span))
                continue
            step = self._step(arg)
            if self.ir["nodes"][arg]["op"] == "constant" and not step.text.startswith(_PARAMS):
                continue
            # Parts that a macro or a guard adds have the place of the whole, and are left out.
            found += step.children if step.span == span else (step,)
        distinct = {(step.span.start, step.span.end): step for step in found}
        return sorted(distinct.values(), key=lambda step: (step.span.start, step.span.end))

    def _place(self, node: int) -> tuple[Span, str]:
        start, end, *within = self.ir["spans"][node]
        return Span(start, end), within[0] if within else ""

    def _text(self, within: str) -> str:
        return self.variables[variable_name(within)] if within else self.text


def _outcome(outcome: Mapping[str, Any]) -> Outcome:
    if "error" in outcome:
        return Outcome(code=outcome["error"]["code"], message=outcome["error"]["message"])
    return Outcome(outcome["type"], outcome["value"])
