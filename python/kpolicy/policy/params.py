"""Params: values that a policy declares by type and that others may set.

Owns checking a value against its declared type, and quantities as numbers. Assumes plain data. Must
not know where overriding values come from, nor CEL beyond the names of its types.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final

from kpolicy.diagnostics import Diagnostic
from kpolicy.policy.model import Param
from kpolicy.policy.nearest import did_you_mean
from kpolicy.policy.policies import Policy

_SIMPLE: Final = ("bool", "int", "double", "string", "quantity")
_NESTED: Final = re.compile(r"(list|map)\((.*)\)\Z")
_DEPTH_MAX: Final = 4
_INT_MIN, _INT_MAX = -(2**63), 2**63 - 1

_QUANTITY: Final = re.compile(
    r"([+-]?)([0-9]{1,20}(?:\.[0-9]{0,20})?|\.[0-9]{1,20})"
    r"(?:(Ki|Mi|Gi|Ti|Pi|Ei)|(n|u|m|k|M|G|T|P|E)|[eE]([+-]?[0-9]{1,2}))?\Z"
)
_BINARY: Final = {"Ki": 1, "Mi": 2, "Gi": 3, "Ti": 4, "Pi": 5, "Ei": 6}
_DECIMAL: Final = {"n": -9, "u": -6, "m": -3, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}


@dataclass(frozen=True, slots=True)
class ParamValue:
    """A param as expressions see it. `type` is a CEL type; a quantity is an int."""

    type: str
    value: Any


def quantity(text: str, unit: str | None = None) -> int | None:
    """A Kubernetes quantity in units, or in thousandths with `unit` milli; rounded up."""
    match = _QUANTITY.match(text)
    if match is None:
        return None
    sign, digits, binary, decimal, exponent = match.groups()
    amount = Fraction(digits)
    if binary:
        amount *= 1024 ** _BINARY[binary]
    elif decimal or exponent:
        amount *= Fraction(10) ** (_DECIMAL[decimal] if decimal else int(exponent))
    amount *= (-1 if sign == "-" else 1) * (1000 if unit == "milli" else 1)
    whole = -((-amount.numerator) // amount.denominator)
    return whole if _INT_MIN <= whole <= _INT_MAX else None


def param_values(
    policy: Policy, given: Mapping[str, Any]
) -> tuple[dict[str, ParamValue], list[Diagnostic]]:
    """The value of every param the policy declares; `given` ones come before defaults."""
    values: dict[str, ParamValue] = {}
    said: list[Diagnostic] = []
    for name, param in policy.model.spec.params.items():
        path = ("spec", "params", name)
        kind = cel_type(param.type)
        if kind is None:
            hint = did_you_mean(param.type, _SIMPLE) or "for example `map(string, list(int))`"
            message = f"`{param.type}` is not a type of params"
            said.append(policy.remark("KP103", message, (*path, "type"), hint=hint))
            continue
        written = given.get(name, param.default)
        value, problem = _checked(written, param)
        if problem:
            at = (*path, "default") if name not in given and param.default is not None else path
            origin = f"the value given for `{name}`" if name in given else f"`{name}`"
            said.append(policy.remark("KP113", f"{origin} {problem}", at))
        values[name] = ParamValue(kind, value)
    return values, said


def cel_type(written: str, depth: int = _DEPTH_MAX) -> str | None:
    """`map(string, quantity)` as `map(string, int)`; None if it is not a type."""
    written = written.strip()
    if written in _SIMPLE:
        return "int" if written == "quantity" else written
    match = _NESTED.match(written)
    if match is None or depth == 0:
        return None
    outer, inner = match.groups()
    parts = list(_parts(inner))
    kinds = [cel_type(part, depth - 1) for part in parts]
    if None in kinds or len(parts) != (1 if outer == "list" else 2):
        return None
    if outer == "map" and kinds[0] != "string":
        return None
    return f"{outer}({', '.join(str(kind) for kind in kinds)})"


def _parts(inner: str) -> Iterator[str]:
    """`string, list(int)` at its outer comma."""
    depth, start = 0, 0
    for index, character in enumerate(inner):
        depth += {"(": 1, ")": -1}.get(character, 0)
        if character == "," and depth == 0:
            yield inner[start:index]
            start = index + 1
    yield inner[start:]


def _checked(written: Any, param: Param) -> tuple[Any, str]:
    """(value or the type's zero, what is wrong or an empty string)."""
    if written is None:
        return _zero(param.type), "has no default and no value is given"
    value = _read(written, param.type.strip(), param.unit)
    if value is None:
        return _zero(param.type), f"must be {_article(param.type)}"
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        if param.minimum is not None and value < param.minimum:
            return value, f"must be at least {param.minimum}"
        if param.maximum is not None and value > param.maximum:
            return value, f"must be at most {param.maximum}"
    return value, ""


def _article(kind: str) -> str:
    return f"an {kind}" if kind[:1] in "aeiou" else f"a {kind}"


def _read(written: Any, kind: str, unit: str | None) -> Any:
    """The value, or None if it is not of the type."""
    match kind:
        case "bool" | "string":
            return written if isinstance(written, bool if kind == "bool" else str) else None
        case "int":
            is_int = isinstance(written, int) and not isinstance(written, bool)
            return written if is_int and _INT_MIN <= written <= _INT_MAX else None
        case "double":
            is_number = isinstance(written, (int, float)) and not isinstance(written, bool)
            return float(written) if is_number else None
        case "quantity":
            is_written = isinstance(written, (str, int, float)) and not isinstance(written, bool)
            return quantity(str(written), unit) if is_written else None
    outer, inner = kind.split("(", 1)
    parts = list(_parts(inner[:-1]))
    if outer == "list" and isinstance(written, list):
        values = [_read(item, parts[0].strip(), unit) for item in written]
        return None if None in values else values
    if outer == "map" and isinstance(written, dict):
        mapped = {key: _read(item, parts[1].strip(), unit) for key, item in written.items()}
        return None if None in mapped.values() else mapped
    return None


def _zero(kind: str) -> Any:
    zeros: dict[str, Any] = {"bool": False, "string": "", "double": 0.0}
    match = _NESTED.match(kind.strip())
    if match is not None:
        return [] if match.group(1) == "list" else {}
    return zeros.get(kind.strip(), 0)
