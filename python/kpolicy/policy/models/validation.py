"""Pydantic's errors as diagnostics with a code, a place and a hint.

Owns the translation, and the recovery that leaves out what is wrong to look at the rest. Assumes
that the tree and the data validated are parallel. Must not know any particular model.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Annotated, Any, NoReturn, TypeVar

from pydantic import BaseModel, ConfigDict, StringConstraints, ValidationError
from pydantic.alias_generators import to_camel
from pydantic_core import ErrorDetails, PydanticCustomError

from kpolicy.diagnostics import Diagnostic, Fix, Span
from kpolicy.policy.codes.registry import pages, remark
from kpolicy.policy.limits import RECOVERY_ROUNDS_MAX
from kpolicy.policy.nearest import did_you_mean, is_slip, nearest
from kpolicy.policy.yaml.nodes import (
    Mapping,
    Node,
    Path,
    Scalar,
    dotted,
    find,
    key_at,
    plain,
    rewritten,
    without,
)


class Edge(BaseModel):
    """Strict and frozen; written in camelCase as Kubernetes does."""

    model_config = ConfigDict(
        strict=True,
        extra="forbid",
        frozen=True,
        alias_generator=to_camel,
        # Only the written names count: `tie_break` is as unknown as `tiebreak`.
        validate_by_name=False,
        allow_inf_nan=False,
    )


NonEmpty = Annotated[str, StringConstraints(min_length=1, max_length=253)]


def refuse(code: str, message: str, at: tuple[str | int, ...] = (), hint: str = "") -> NoReturn:
    """Fail a validator with a code of ours and the place, relative to the model, it is about."""
    context: dict[str, Any] = {"hint": hint, "at": at}
    raise PydanticCustomError(code, message, context)


M = TypeVar("M", bound=BaseModel)

# Types of errors that are about a value's type; the rest of KP113 is about its range or form.
_TYPE_NAMES = {
    "string_type": "text",
    "int_type": "a whole number",
    "float_type": "a number",
    "bool_type": "`true` or `false`",
    "list_type": "a list",
    "dict_type": "a map",
    "model_type": "a map",
    "model_attributes_type": "a map",
    "int_from_float": "a whole number",
    "is_instance_of": "another type",
}


def validated(
    model: type[M], tree: Node, at: Path = ()
) -> tuple[M | None, Node, tuple[Diagnostic, ...]]:
    """The model of a tree, the tree that it is a model of, and what was wrong.

    What is wrong is left out and the rest looked at again, so that later stages see all that is
    sound.
    """
    findings: dict[Span, Diagnostic] = {}
    # What lacks something that was left out is no finding of its own.
    left_out: list[Path] = []
    for _ in range(RECOVERY_ROUNDS_MAX):
        try:
            return model.model_validate(plain(tree)), tree, tuple(findings.values())
        except ValidationError as error:
            details = error.errors(include_url=False)
        for detail in details:
            path = _path(detail, tree)
            lacking = path[:-1] if detail["type"] == "KP114" else path
            if not any(one[: len(lacking)] == lacking for one in left_out):
                finding = _finding(detail, path, tree, model, at)
                findings.setdefault(finding.span or tree.span, finding)
        blamed = sorted({_blamed(detail, tree) for detail in details}, key=_last_first)
        for path in blamed:
            if not path:
                return None, tree, tuple(findings.values())
            tree = without(tree, path)
        left_out += blamed
    return None, tree, tuple(findings.values())


def _last_first(path: Path) -> tuple[int, str]:
    """Longest and last first, so that leaving one out does not move the others."""
    return -len(path), "".join(chr(0x10FFFF - ord(c)) for c in _sortable(path))


def _sortable(path: Path) -> str:
    return "/".join(f"{part:06d}" if isinstance(part, int) else part for part in path)


def _path(detail: ErrorDetails, tree: Node) -> Path:
    """`loc` as a path of the tree; parts that name a branch of a union are not in the tree."""
    path: Path = ()
    loc = (*detail["loc"], *detail.get("ctx", {}).get("at", ()))
    for index, part in enumerate(loc):
        last = index == len(loc) - 1
        if find(tree, (*path, part)) is not None or (last and detail["type"] == "missing"):
            path = (*path, part)
    return path


def _blamed(detail: ErrorDetails, tree: Node) -> Path:
    """What to leave out: the value that is wrong, or what lacks a field."""
    path = _path(detail, tree)
    return path[:-1] if detail["type"] == "missing" else path


def _finding(
    detail: ErrorDetails, path: Path, tree: Node, model: type[BaseModel], at: Path
) -> Diagnostic:
    kind, context = detail["type"], detail.get("ctx", {})
    node = find(tree, path)
    span = node.span if node is not None else tree.span
    field = dotted((*at, *path))
    if kind in pages():
        return remark(kind, detail["msg"], span, hint=context.get("hint", ""), field=field)
    if kind == "extra_forbidden":
        return _unknown_field(path, tree, model, field)
    if kind == "missing":
        parent = key_at(tree, path[:-1])
        parent_node = find(tree, path[:-1])
        where = parent.span if parent else _start(parent_node or tree)
        return remark("KP114", f"`{path[-1]}` is missing here", where, field=field)
    if kind in ("literal_error", "enum"):
        return _unknown_value(node, detail, span, field)
    if kind in _TYPE_NAMES:
        message = f"{_shown(path)} must be {_TYPE_NAMES[kind]}"
        return remark("KP113", message, span, hint=_type_hint(kind, node), field=field)
    return remark(_form_code(detail, path), _form_message(detail, path), span, field=field)


def _start(node: Node) -> Span:
    return Span(node.span.start, min(node.span.start + 1, node.span.end))


def _shown(path: Path) -> str:
    names = [part for part in path if isinstance(part, str)]
    return f"`{names[-1]}`" if names else "this"


def _unknown_field(path: Path, tree: Node, model: type[BaseModel], field: str) -> Diagnostic:
    key = key_at(tree, path)
    name = str(path[-1])
    fields = _fields(model, path[:-1])
    inside = _inside(path[:-1])
    message = f"unknown field `{name}`{inside}"
    holder = find(tree, path[:-1])
    taken = {entry.key.text for entry in holder.entries} if isinstance(holder, Mapping) else set()
    near = nearest(name, fields)
    fix = slip_of(key, near) if near not in taken else None
    span = key.span if key else tree.span
    return remark("KP102", message, span, hint=did_you_mean(name, fields), field=field, fix=fix)


def slip_of(written: Node | None, near: str) -> Fix | None:
    """The fix that writes `near` instead, if it is a slip of the hand."""
    if not isinstance(written, Scalar) or not near or not is_slip(written.text, near):
        return None
    edit = rewritten(written, near)
    return Fix((edit,)) if edit is not None else None


def _inside(path: Path) -> str:
    names = [part for part in path if isinstance(part, str)]
    if not names:
        return ""
    one = {
        "predicates": "a predicate",
        "priorities": "a priority",
        "profiles": "a profile",
        "variables": "a variable",
        "matchConditions": "a match condition",
        "extenders": "an extender",
    }
    if isinstance(path[-1], int):
        return f" in {one.get(names[-1], f'`{names[-1]}`')}"
    return f" in `{names[-1]}`"


@cache
def _schema(model: type[BaseModel]) -> dict[str, Any]:
    """Made once: it takes longer than all else that a finding needs."""
    return model.model_json_schema(by_alias=True)


def _fields(model: type[BaseModel], path: Path) -> list[str]:
    """The names of the fields of the model at `path`."""
    schema = _schema(model)
    here: Any = schema
    for part in path:
        here = _next_schema(_resolved(here, schema), part, schema)
    return sorted(_resolved(here, schema).get("properties", {}))


def _resolved(here: Any, schema: dict[str, Any]) -> dict[str, Any]:
    for choice in _choices(here):
        reference = choice.get("$ref", "")
        if reference:
            return dict(schema["$defs"][reference.rsplit("/", 1)[-1]])
    return here if isinstance(here, dict) else {}


def _choices(here: Any) -> Iterator[dict[str, Any]]:
    if isinstance(here, dict):
        yield here
        for many in ("anyOf", "allOf", "oneOf"):
            yield from (one for one in here.get(many, ()) if isinstance(one, dict))


def _next_schema(here: dict[str, Any], part: str | int, schema: dict[str, Any]) -> Any:
    for choice in _choices(here):
        found = _resolved(choice, schema)
        if isinstance(part, int) and "items" in found:
            return found["items"]
        if isinstance(part, str):
            if part in found.get("properties", {}):
                return found["properties"][part]
            if isinstance(found.get("additionalProperties"), dict):
                return found["additionalProperties"]
    return {}


def _unknown_value(node: Node | None, detail: ErrorDetails, span: Span, field: str) -> Diagnostic:
    allowed = detail.get("ctx", {}).get("expected", "")
    names = [name.strip("' ") for name in allowed.replace(" or ", ", ").split(", ")]
    written = node.text if isinstance(node, Scalar) else "this"
    near = nearest(written, names)
    listed = ", ".join(f"`{name}`" for name in names)
    hint = f"did you mean `{near}`?" if near else f"one of {listed}"
    fix = slip_of(node, near)
    message = f"`{written}` is not one of {listed}"
    return remark("KP103", message, span, hint=hint, field=field, fix=fix)


def _type_hint(kind: str, node: Node | None) -> str:
    if not isinstance(node, Scalar):
        return ""
    if kind == "string_type" and node.text:
        return f'write "{node.text}" in quotes'
    if kind == "bool_type" and node.text.lower() in ("yes", "on", "y", "no", "off", "n"):
        return f"write `{'true' if node.text.lower() in ('yes', 'on', 'y') else 'false'}`"
    if kind in ("int_type", "float_type") and node.style and node.text.lstrip("-").isdigit():
        return f"write {node.text} without quotes"
    return ""


def _form_code(detail: ErrorDetails, path: Path) -> str:
    names = [part for part in path if isinstance(part, str)]
    last = names[-1] if names else ""
    if detail["type"] == "string_too_long" and last.lower().endswith("expression"):
        return "KP112"
    return "KP113"


def _form_message(detail: ErrorDetails, path: Path) -> str:
    context = detail.get("ctx", {})
    shown = _shown(path)
    match detail["type"]:
        case "greater_than_equal":
            return f"{shown} must be at least {context['ge']:,}"
        case "less_than_equal":
            return f"{shown} must be at most {context['le']:,}"
        case "string_too_long":
            return f"{shown} may have at most {context['max_length']:,} characters"
        case "string_too_short":
            return f"{shown} must not be empty"
        case "too_long":
            return f"{shown} may have at most {context['max_length']:,} items"
        case "too_short":
            return f"{shown} must have at least {context['min_length']:,} items"
        case "string_pattern_mismatch":
            return f"{shown} must match `{context['pattern']}`"
        case "finite_number":
            return f"{shown} must be a finite number"
    return f"{shown}: {detail['msg'][:1].lower()}{detail['msg'][1:]}"
