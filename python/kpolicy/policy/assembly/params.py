"""The values of params: from `--param`, from a ConfigMap that the policy names, or the default.

Also the types that params may have. The ConfigMaps are manifests that
the caller hands in: nothing here reads a file or asks the API server.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from math import ceil
from typing import Any, Final

from kpolicy.diagnostics import Diagnostic, Place, did_you_mean
from kpolicy.policy.assembly.read_policy import Policy, read_policies
from kpolicy.policy.cel import Parameter, Type, parse_type
from kpolicy.policy.cel.types import INT, INT_MAX, INT_MIN, depth_of
from kpolicy.policy.codes.registry import remark
from kpolicy.policy.document_kinds import POLICY_KEYS, ConfigMap, find_documents
from kpolicy.policy.models.scheduling_policy import ConfigMapReference, Param
from kpolicy.policy.yaml import nodes
from kpolicy.policy.yaml.nodes import Path, Scalar, plain
from kpolicy.policy.yaml.source import Source, SourceText
from kpolicy.policy.yaml.tree_reader import read_text
from kpolicy.quick_dataclass import dataclass

_SIMPLE: Final = ("bool", "int", "double", "string", "quantity")
_DEPTH_MAX: Final = 5
_ZEROS: Final = {"bool": False, "string": "", "double": 0.0, "list": (), "map": {}}


# ConfigMaps that policies name.


@dataclass(frozen=True, slots=True)
class HeldText:
    """The text that a ConfigMap holds under a key, and its place in the manifest."""

    text: str
    place: Place


def wanted_config_maps(sources: Sequence[Source]) -> tuple[ConfigMapReference, ...]:
    """The ConfigMaps that policies of these sources name and that are not among the sources."""
    found = find_documents(sources)
    wanted = {
        (reference.namespace, reference.name): reference
        for policy in read_policies(found.documents).policies
        for reference in _references(policy)
        if find_config_map(reference, found.config_maps) is None
    }
    return tuple(wanted.values())


def find_config_map(
    reference: ConfigMapReference, config_maps: Iterable[ConfigMap]
) -> ConfigMap | None:
    """A manifest without a namespace stands for the namespace that the policy names."""
    wanted = ((reference.name, ""), (reference.name, reference.namespace))
    return next((found for found in config_maps if (found.name, found.namespace) in wanted), None)


def held_texts(
    policy: Policy,
    config_maps: Sequence[ConfigMap],
    declared: Collection[str],
    expected: Collection[str],
    findings: list[Diagnostic],
) -> dict[str, HeldText]:
    """The texts for `declared` params by name; a later ConfigMap of the policy wins.

    A key that is neither declared nor `expected` by a policy that stands on this one is a finding.
    """
    texts: dict[str, HeldText] = {}
    for index, reference in enumerate(_references(policy)):
        found = find_config_map(reference, config_maps)
        if found is None and not reference.optional:
            findings.append(
                policy.remark(
                    "KP123",
                    f"there is no ConfigMap `{reference.namespace}/{reference.name}`",
                    ("spec", "paramsFrom", index, "configMap", "name"),
                    hint="give its manifest beside the policy, or write `optional: true`",
                )
            )
        if found is None:
            continue
        for key, value in _entries(found):
            if key.text in declared:
                texts[key.text] = HeldText(value.text, found.text.place(value.span))
            elif key.text not in expected:
                finding = remark(
                    "KP125",
                    f"no param is called `{key.text}`",
                    hint=did_you_mean(key.text, {*declared, *expected}),
                )
                findings.append(finding.at(found.text.place(key.span)))
    return texts


def uncalled(config_maps: Iterable[ConfigMap], policies: Iterable[Policy]) -> Iterator[Diagnostic]:
    """Findings about ConfigMaps that carry no policy and that no policy names."""
    references = [reference for policy in policies for reference in _references(policy)]
    for config_map in config_maps:
        is_named = any(find_config_map(wanted, [config_map]) is not None for wanted in references)
        if config_map.without_policy is not None and not is_named:
            yield config_map.without_policy


def _references(policy: Policy) -> list[ConfigMapReference]:
    return [source.config_map for source in policy.model.spec.params_from]


def _entries(config_map: ConfigMap) -> Iterator[tuple[Scalar, Scalar]]:
    """Keys and texts, without the texts that may be policies."""
    data = config_map.data
    for entry in data.entries if isinstance(data, nodes.Mapping) else ():
        if isinstance(entry.value, Scalar) and not entry.key.text.endswith(POLICY_KEYS):
            yield entry.key, entry.value


# The value of a param.


class ParamValues:
    """The params of policies, with those of their bases.

    `overrides` (from `--param`) win over ConfigMaps, and these over the default of the nearest
    policy that declares the param. The params of a policy also hold in the rules it inherits.
    """

    def __init__(self, overrides: Mapping[str, Any], config_maps: Sequence[ConfigMap]) -> None:
        self._overrides = overrides
        self._config_maps = config_maps

    def of(
        self, lineage: Sequence[Policy], of_heirs: Mapping[str, Collection[str]]
    ) -> tuple[dict[str, Parameter], list[Diagnostic]]:
        """The params that the rules of `lineage[0]` see, its inherited rules included.

        `of_heirs`, by policy: the params of those that stand on it, which a ConfigMap may hold too.
        """
        declared: dict[str, list[tuple[Policy, Param]]] = {}
        for policy in lineage:
            for name, param in policy.model.spec.params.items():
                declared.setdefault(name, []).append((policy, param))
        findings: list[Diagnostic] = []
        held: dict[str, HeldText] = {}
        for policy in reversed(lineage):
            expected = of_heirs[policy.name]
            held |= held_texts(policy, self._config_maps, declared, expected, findings)
        values = {
            name: value
            for name, declarations in declared.items()
            if (value := self._value(name, declarations, held.get(name), findings)) is not None
        }
        return values, findings

    def unknown(self, policies: Iterable[Policy]) -> Iterator[Diagnostic]:
        """Findings about overrides that no policy declares."""
        declared = {name for policy in policies for name in policy.model.spec.params}
        for name in self._overrides:
            if name not in declared:
                yield remark(
                    "KP124",
                    f"no policy declares the param `{name}`",
                    hint=did_you_mean(name, declared),
                )

    def _value(
        self,
        name: str,
        declarations: Sequence[tuple[Policy, Param]],
        held: HeldText | None,
        findings: list[Diagnostic],
    ) -> Parameter | None:
        """The value of one param; `declarations` begin with the nearest policy."""
        policy, param = declarations[0]
        path: Path = ("spec", "params", name)
        kind = parse_param_type(param.type)
        if kind is None:
            findings.append(
                policy.remark(
                    "KP103",
                    f"`{param.type}` is not a type of params",
                    (*path, "type"),
                    hint=did_you_mean(param.type, _SIMPLE)
                    or "for example `map(string, list(int))`",
                )
            )
            return None
        for owner, declaration in declarations:
            other = parse_param_type(declaration.type)
            if other is not None and seen_type(other) != seen_type(kind):
                has_type = f"`{name}` is {_article(declaration.type)} in `{owner.name}`"
                findings.append(
                    policy.remark("KP113", f"{has_type}, whose rules use it", (*path, "type"))
                )
                break
        subject, at = f"`{name}`", path
        if name in self._overrides:
            written, subject = self._overrides[name], f"the value given for `{name}`"
        elif held is not None:
            written = _held_value(held.text, kind)
        else:
            stated = ((d.default, owner) for owner, d in declarations if d.default is not None)
            written, owner = next(stated, (None, policy))
            at = (*path, "default") if written is not None and owner is policy else path
        value, problem = _checked(written, kind, param)
        if problem:
            finding = policy.remark("KP113", f"{subject} {problem}", at)
            if held is not None and name not in self._overrides:
                finding = replace(finding, place=held.place, field="")
            findings.append(finding)
        return Parameter(seen_type(kind), value)


# Types, and values of a type.


def parse_param_type(written: str) -> Type | None:
    """The type of a param, in which `quantity` is a type; None if params have no such type."""
    kind = parse_type(written.strip())
    is_known = kind is not None and depth_of(kind) <= _DEPTH_MAX and _is_of_params(kind)
    return kind if is_known else None


def _is_of_params(kind: Type) -> bool:
    match kind:
        case Type("list", (item,)) | Type("map", (Type("string"), item)):
            return _is_of_params(item)
    return kind.name in _SIMPLE


def seen_type(kind: Type) -> Type:
    """The type that expressions see: a quantity is an int there."""
    if kind.name == "quantity":
        return INT
    return replace(kind, parameters=tuple(map(seen_type, kind.parameters)))


def quantity(text: str, unit: str | None = None) -> int | None:
    """A Kubernetes quantity in units, or in thousandths with `unit` milli; rounded up."""
    from kpolicy.policy.quantities import read_quantity  # noqa: PLC0415  loads exact fractions

    amount = read_quantity(text)
    if amount is None:
        return None
    whole = ceil(amount * (1000 if unit == "milli" else 1))
    return whole if INT_MIN <= whole <= INT_MAX else None


def _held_value(text: str, kind: Type) -> Any:
    """The text of a ConfigMap as a value: text for a string or quantity, otherwise YAML."""
    if kind.name in ("string", "quantity"):
        return text if kind.name == "string" else text.strip()
    read = read_text(SourceText("", text))
    # A tuple is a value of no type, so text that is no YAML fails the check of the type.
    return plain(read.roots[0]) if len(read.roots) == 1 and not read.diagnostics else ()


def _checked(written: Any, kind: Type, param: Param) -> tuple[Any, str]:
    """The value (or the zero of its type), and what is wrong with it (or an empty string)."""
    if written is None:
        return _ZEROS.get(kind.name, 0), "has no default and no value is given"
    value = _read(written, kind, param.unit)
    if value is None:
        return _ZEROS.get(kind.name, 0), f"must be {_article(param.type)}"
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        if param.minimum is not None and value < param.minimum:
            return value, f"must be at least {param.minimum}"
        if param.maximum is not None and value > param.maximum:
            return value, f"must be at most {param.maximum}"
    return value, ""


def _article(kind: str) -> str:
    return f"an {kind}" if kind[:1] in "aeiou" else f"a {kind}"


def _read(written: Any, kind: Type, unit: str | None) -> Any:
    """The value, or None if it is not of the type."""
    is_number = isinstance(written, (int, float)) and not isinstance(written, bool)
    match kind.name, written:
        case ("bool", bool()) | ("string", str()):
            return written
        case "int", int() if is_number and INT_MIN <= written <= INT_MAX:
            return written
        case "double", _ if is_number:
            return float(written)
        case "quantity", _ if is_number or isinstance(written, str):
            return quantity(str(written), unit)
    match written:
        case list() if kind.name == "list":
            items = [_read(item, kind.parameters[0], unit) for item in written]
            return None if None in items else items
        case dict() if kind.name == "map":
            mapped = {key: _read(item, kind.parameters[1], unit) for key, item in written.items()}
            return None if None in mapped.values() else mapped
    return None
