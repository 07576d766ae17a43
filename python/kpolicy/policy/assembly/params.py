"""Params: values that a policy declares by type and that others may set.

Owns which value counts, checking it against its declared type, and quantities as numbers. Assumes
plain data, and ConfigMaps as they were handed in. Must not know CEL beyond the names of its types.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final

from kpolicy.diagnostics import Diagnostic, Place
from kpolicy.policy.assembly.read_policy import Policy, read_policies
from kpolicy.policy.codes.registry import remark
from kpolicy.policy.document_kinds import POLICY_KEYS, ConfigMap, find_documents
from kpolicy.policy.models.scheduling_policy import ConfigMapReference, Param
from kpolicy.policy.nearest import did_you_mean
from kpolicy.policy.yaml import nodes as tree
from kpolicy.policy.yaml.nodes import Path, Scalar, plain
from kpolicy.policy.yaml.source import Source, SourceText
from kpolicy.policy.yaml.tree_reader import read_text


@dataclass(frozen=True, slots=True)
class HeldText:
    """What a ConfigMap holds under a key, and where."""

    text: str
    place: Place


def wanted_config_maps(sources: Sequence[Source]) -> tuple[ConfigMapReference, ...]:
    """Those that policies of these sources name and that are not among the sources."""
    found = find_documents(sources)
    named = [
        reference
        for policy in read_policies(found.documents).policies
        for reference in _references(policy)
        if find_config_map(reference, found.config_maps) is None
    ]
    return tuple({(one.namespace, one.name): one for one in named}.values())


def find_config_map(
    reference: ConfigMapReference, config_maps: Iterable[ConfigMap]
) -> ConfigMap | None:
    """A manifest without a namespace is for whichever it is applied to."""
    for one in config_maps:
        if one.name == reference.name and one.namespace in ("", reference.namespace):
            return one
    return None


def held_texts(
    policy: Policy,
    config_maps: Sequence[ConfigMap],
    declared: Collection[str],
    expected: Collection[str],
) -> tuple[dict[str, HeldText], list[Diagnostic]]:
    """By name of the param, for those that are declared; a later reference comes first. Keys that
    are `expected`, besides, are for others."""
    texts: dict[str, HeldText] = {}
    said: list[Diagnostic] = []
    for index, reference in enumerate(_references(policy)):
        path: Path = ("spec", "paramsFrom", index, "configMap", "name")
        found = find_config_map(reference, config_maps)
        if found is not None:
            for key, value in _entries(found):
                if key.text in declared:
                    texts[key.text] = HeldText(value.text, found.text.place(value.span))
                elif key.text not in expected:
                    said.append(_unknown_key(found, key, {*declared, *expected}))
        elif not reference.optional:
            hint = "give its manifest beside the policy, or write `optional: true`"
            message = f"there is no ConfigMap `{reference.namespace}/{reference.name}`"
            said.append(policy.remark("KP123", message, path, hint=hint))
    return texts, said


def uncalled(config_maps: Iterable[ConfigMap], policies: Iterable[Policy]) -> Iterator[Diagnostic]:
    """What there is to say of ConfigMaps that carry no policy and that no policy names."""
    references = [one for policy in policies for one in _references(policy)]
    for config_map in config_maps:
        is_named = any(find_config_map(one, [config_map]) is not None for one in references)
        if config_map.without_policy is not None and not is_named:
            yield config_map.without_policy


def _references(policy: Policy) -> list[ConfigMapReference]:
    return [one.config_map for one in policy.model.spec.params_from]


def _entries(config_map: ConfigMap) -> Iterator[tuple[Scalar, Scalar]]:
    """Without what may be policies."""
    data = config_map.data
    for entry in data.entries if isinstance(data, tree.Mapping) else ():
        if isinstance(entry.value, Scalar) and not entry.key.text.endswith(POLICY_KEYS):
            yield entry.key, entry.value


def _unknown_key(config_map: ConfigMap, key: Scalar, declared: Collection[str]) -> Diagnostic:
    message = f"no param is called `{key.text}`"
    hint = did_you_mean(key.text, declared)
    return remark("KP125", message, hint=hint).at(config_map.text.place(key.span))


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


class ParamValues:
    """Params of policies with what they extend.

    The value given for a name comes first, then what a ConfigMap holds, then the default of the
    nearest policy that declares it. A policy's params hold in the rules that it inherits too."""

    def __init__(self, given: Mapping[str, Any], config_maps: Sequence[ConfigMap]) -> None:
        self._given = given
        self._config_maps = config_maps

    def of(
        self, lineage: Sequence[Policy], of_heirs: Mapping[str, Collection[str]]
    ) -> tuple[dict[str, ParamValue], list[Diagnostic]]:
        """As rules of the first of `lineage` see them, and of those that it extends. A ConfigMap
        that a policy names may hold params of its heirs as well (`of_heirs`, by policy)."""
        declared: dict[str, list[tuple[Policy, Param]]] = {}
        for policy in lineage:
            for name, param in policy.model.spec.params.items():
                declared.setdefault(name, []).append((policy, param))
        held, said = self._held(lineage, declared, of_heirs)
        values: dict[str, ParamValue] = {}
        for name, line in declared.items():
            value, problems = self._value(name, line, held.get(name))
            said += problems
            if value is not None:
                values[name] = value
        return values, said

    def unknown(self, policies: Iterable[Policy]) -> Iterator[Diagnostic]:
        """Given values that no policy asks for."""
        declared = {name for policy in policies for name in policy.model.spec.params}
        for name in self._given:
            if name not in declared:
                hint = did_you_mean(name, declared)
                yield remark("KP124", f"no policy declares the param `{name}`", hint=hint)

    def _held(
        self,
        lineage: Sequence[Policy],
        declared: Collection[str],
        of_heirs: Mapping[str, Collection[str]],
    ) -> tuple[dict[str, HeldText], list[Diagnostic]]:
        held: dict[str, HeldText] = {}
        said: list[Diagnostic] = []
        for policy in reversed(lineage):
            texts, problems = held_texts(policy, self._config_maps, declared, of_heirs[policy.name])
            held |= texts
            said += problems
        return held, said

    def _value(
        self, name: str, line: Sequence[tuple[Policy, Param]], held: HeldText | None
    ) -> tuple[ParamValue | None, list[Diagnostic]]:
        """`line` are those that declare it, nearest first."""
        policy, param = line[0]
        path: Path = ("spec", "params", name)
        kind = cel_type(param.type)
        if kind is None:
            hint = did_you_mean(param.type, _SIMPLE) or "for example `map(string, list(int))`"
            message = f"`{param.type}` is not a type of params"
            return None, [policy.remark("KP103", message, (*path, "type"), hint=hint)]
        said = []
        other = next((one for one in line if cel_type(one[1].type) not in (kind, None)), None)
        if other is not None:
            message = (
                f"`{name}` is {_article(other[1].type)} in `{other[0].name}`, whose rules use it"
            )
            said.append(policy.remark("KP113", message, (*path, "type")))
        if name in self._given:
            value, problem = _checked(self._given[name], param)
            if problem:
                said.append(policy.remark("KP113", f"the value given for `{name}` {problem}", path))
            return ParamValue(kind, value), said
        if held is not None:
            value, problem = _checked(_written(held.text, param), param)
            if problem:
                said.append(remark("KP113", f"`{name}` {problem}").at(held.place))
            return ParamValue(kind, value), said
        stated = next((one for one in line if one[1].default is not None), line[0])
        value, problem = _checked(stated[1].default, param)
        if problem:
            has_default = stated[1].default is not None
            at = (*path, "default") if has_default and stated[0] is policy else path
            said.append(policy.remark("KP113", f"`{name}` {problem}", at))
        return ParamValue(kind, value), said


def _written(text: str, param: Param) -> Any:
    """The text of a ConfigMap as the type has it: itself, or YAML."""
    if param.type.strip() in ("string", "quantity"):
        return text if param.type.strip() == "string" else text.strip()
    read = read_text(SourceText("", text))
    # What cannot be read is of no type.
    return plain(read.roots[0]) if len(read.roots) == 1 and not read.diagnostics else ()


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
