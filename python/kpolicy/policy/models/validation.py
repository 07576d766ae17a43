"""Validates the tree of a document against a model: pydantic's errors become diagnostics.

Invalid values are left out and the rest is validated again, so that one mistake does not hide the
others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache, partial
from typing import Annotated, Any, Final, NoReturn, TypeVar

from pydantic import BaseModel, ConfigDict, StringConstraints, ValidationError
from pydantic_core import ErrorDetails, PydanticCustomError

from kpolicy.diagnostics import Diagnostic, Fix, Hint, Span, is_slip, suggestion
from kpolicy.policy.codes.registry import pages, remark
from kpolicy.policy.limits import RECOVERY_ROUNDS_MAX
from kpolicy.policy.models.go_durations import DURATION_PATTERN
from kpolicy.policy.yaml.nodes import (
    Mapping,
    Node,
    Path,
    Scalar,
    dotted,
    find,
    first_character,
    key_at,
    plain,
    rewritten,
    without,
)


def in_camel_case(name: str) -> str:
    """`match_conditions` → `matchConditions`. pydantic's own matches patterns, for every field."""
    first, *others = name.split("_")
    return first + "".join(word.capitalize() for word in others)


class Edge(BaseModel):
    """The base of every model that is read from a document: strict, frozen, in camelCase."""

    model_config = ConfigDict(
        strict=True,
        extra="forbid",
        frozen=True,
        alias_generator=in_camel_case,
        # Only camelCase names are fields: `tie_break` is as unknown as `tiebreak`.
        validate_by_name=False,
        allow_inf_nan=False,
        # A model is built when a document of its kind is first read: most runs read one kind.
        defer_build=True,
    )


M = TypeVar("M", bound=BaseModel)
NonEmpty = Annotated[str, StringConstraints(min_length=1, max_length=253)]


def empty_list() -> list[Any]:
    """The default of fields that are lists. pydantic asks each factory for its signature, and
    Python parses that of `list` from text, each time."""
    return []


def defaults_of(model: type[M], **others: Any) -> Callable[[], M]:
    """Makes the default of a field that is a model: its defaults, with `others` for fields without.
    No validator is built for it, which takes longer than to read most documents."""
    return partial(model.model_construct, **others)


def refuse(code: str, message: str, at: tuple[str | int, ...] = (), hint: str = "") -> NoReturn:
    """Fail a validator with a code of the catalogue; `at` is the path within the model."""
    context: dict[str, Any] = {"hint": hint, "at": at}
    raise PydanticCustomError(code, message, context)


# The errors of pydantic about a value's type, and the type that is wanted.
_TYPE_NAMES: Final = {
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
    """The model, the tree without what was left out, and the findings. `at` is the path of `tree`
    in its document."""
    findings: dict[Span, Diagnostic] = {}
    # A map that lacks a value that was left out is no finding of its own.
    left_out: list[Path] = []
    for _ in range(RECOVERY_ROUNDS_MAX):
        try:
            return model.model_validate(plain(tree)), tree, tuple(findings.values())
        except ValidationError as error:
            details = error.errors(include_url=False)
        for detail in details:
            path = _path(detail, tree)
            lacking = path[:-1] if detail["type"] == "KP114" else path
            if not any(gone[: len(lacking)] == lacking for gone in left_out):
                finding = _finding(detail, path, tree, model, at)
                findings.setdefault(finding.span or tree.span, finding)
        # The longest and last path first, so that leaving it out does not move the others.
        blamed = sorted({_blamed(detail, tree) for detail in details}, key=_depth, reverse=True)
        for path in blamed:
            if not path:
                return None, tree, tuple(findings.values())
            tree = without(tree, path)
        left_out += blamed
    return None, tree, tuple(findings.values())


def _depth(path: Path) -> tuple[int, str]:
    return len(path), "/".join(f"{part:06d}" if isinstance(part, int) else part for part in path)


def _path(detail: ErrorDetails, tree: Node) -> Path:
    """`loc` as a path of the tree, without the parts that only name a branch of a union."""
    path: Path = ()
    for part in (*detail["loc"], *detail.get("ctx", {}).get("at", ())):
        if find(tree, (*path, part)) is not None:
            path = (*path, part)
    return (*path, detail["loc"][-1]) if detail["type"] == "missing" else path


def _blamed(detail: ErrorDetails, tree: Node) -> Path:
    """The path to leave out: the value that is wrong, or the map that lacks a field."""
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
        where = parent.span if parent else first_character((parent_node or tree).span)
        return remark("KP114", f"`{path[-1]}` is missing here", where, field=field)
    if kind in ("literal_error", "enum"):
        return _unknown_value(node, _allowed(model, path), span, field)
    if kind in _TYPE_NAMES:
        return remark(
            "KP113",
            f"{_shown(path)} must be {_TYPE_NAMES[kind]}",
            span,
            hint=_type_hint(kind, node),
            field=field,
        )
    hint = _FORM_HINTS.get(detail.get("ctx", {}).get("pattern", ""), "")
    message = _form_message(detail, path)
    return remark(_form_code(detail, path), message, span, hint=hint, field=field)


def _shown(path: Path) -> str:
    names = [part for part in path if isinstance(part, str)]
    return f"`{names[-1]}`" if names else "this"


def _unknown_field(path: Path, tree: Node, model: type[BaseModel], field: str) -> Diagnostic:
    key = key_at(tree, path)
    name = str(path[-1])
    hint = suggestion(name, _schema_at(model, path[:-1]).get("properties", {}))
    holder = find(tree, path[:-1])
    names_in_use = (
        {entry.key.text for entry in holder.entries} if isinstance(holder, Mapping) else set()
    )
    return remark(
        "KP102",
        f"unknown field `{name}`{_inside(path[:-1])}",
        key.span if key else tree.span,
        hint=hint.text if hint else "",
        field=field,
        fix=slip_of(key, hint) if hint and hint.replacement not in names_in_use else None,
    )


def fix_of(written: Node | None, hint: Hint | None) -> Fix | None:
    """The fix that writes the replacement of the hint, in the quotes of the scalar."""
    if not isinstance(written, Scalar) or hint is None or not hint.replacement:
        return None
    edit = rewritten(written, hint.replacement)
    return Fix((edit,)) if edit is not None else None


def slip_of(written: Node | None, hint: Hint | None) -> Fix | None:
    """A suggestion, but only for a typing error of a letter or two."""
    if hint is None or not isinstance(written, Scalar):
        return None
    return fix_of(written, hint) if is_slip(written.text, hint.replacement) else None


def _inside(path: Path) -> str:
    names = [part for part in path if isinstance(part, str)]
    if not names:
        return ""
    items = {
        "predicates": "a predicate",
        "priorities": "a priority",
        "profiles": "a profile",
        "variables": "a variable",
        "matchConditions": "a match condition",
        "extenders": "an extender",
    }
    if isinstance(path[-1], int):
        return f" in {items.get(names[-1], f'`{names[-1]}`')}"
    return f" in `{names[-1]}`"


@cache
def _schema(model: type[BaseModel]) -> dict[str, Any]:
    """Cached: building it takes longer than everything else that a finding needs."""
    return model.model_json_schema(by_alias=True)


def _schema_at(model: type[BaseModel], path: Path) -> dict[str, Any]:
    """The JSON schema of the value at `path`."""
    here = _schema(model)
    definitions = here.get("$defs", {})
    for part in path:
        steps = (_step(choice, part) for choice in _choices(here, definitions))
        here = next((found for found in steps if found is not None), {})
    stated = {"properties", "enum", "const"}
    return next((c for c in _choices(here, definitions) if c.keys() & stated), here)


def _choices(here: dict[str, Any], definitions: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The schema itself or the members of its union, with references resolved."""
    for choice in (here, *here.get("anyOf", ())):
        yield definitions.get(choice.get("$ref", "").rsplit("/", 1)[-1], choice)


def _step(here: dict[str, Any], part: str | int) -> dict[str, Any] | None:
    below = here.get("additionalProperties")
    if isinstance(part, str) and part in here.get("properties", {}):
        below = here["properties"][part]
    elif isinstance(part, int):
        below = here.get("items")
    return below if isinstance(below, dict) else None


def _allowed(model: type[BaseModel], path: Path) -> list[str]:
    """The values of an enumeration."""
    found = _schema_at(model, path)
    return [found["const"]] if "const" in found else list(found.get("enum", ()))


def _unknown_value(node: Node | None, names: Sequence[str], span: Span, field: str) -> Diagnostic:
    written = node.text if isinstance(node, Scalar) else "this"
    listed = ", ".join(f"`{name}`" for name in names)
    hint = suggestion(written, names) or Hint(f"one of {listed}")
    return remark(
        "KP103",
        f"`{written}` is not one of {listed}",
        span,
        hint=hint.text,
        field=field,
        fix=slip_of(node, hint),
    )


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
    is_expression = bool(names) and names[-1].lower().endswith("expression")
    return "KP112" if is_expression and detail["type"] == "string_too_long" else "KP113"


_FORMS: Final = {
    "greater_than_equal": "must be at least {ge:,}",
    "less_than_equal": "must be at most {le:,}",
    "string_too_long": "may have at most {max_length:,} characters",
    "string_too_short": "must not be empty",
    "too_long": "may have at most {max_length:,} items",
    "too_short": "must have at least {min_length:,} items",
    "string_pattern_mismatch": "must match `{pattern}`",
    "finite_number": "must be a finite number",
}


# By the pattern that a text does not match.
_FORM_HINTS: Final = {DURATION_PATTERN: "a number and a unit, such as `30s` or `1m30s`"}


def _form_message(detail: ErrorDetails, path: Path) -> str:
    form = _FORMS.get(detail["type"])
    if form is not None:
        return f"{_shown(path)} {form.format(**detail.get('ctx', {}))}"
    return f"{_shown(path)}: {detail['msg'][:1].lower()}{detail['msg'][1:]}"
