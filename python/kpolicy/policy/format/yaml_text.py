"""Writes plain values as YAML in the usual form: short maps on one line, long texts folded."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final, TypeAlias

from kpolicy.policy.yaml.nodes import Path
from kpolicy.policy.yaml.tree_reader import plain_value, yaml_1_1_kind

# By path: the lines above a value.
Comments: TypeAlias = dict[Path, list[str]]
_WIDTH: Final = 100
_FLOW_KEYS_MAX: Final = 4
# Text that needs no quotes.
_PLAIN: Final = re.compile(r"[A-Za-z0-9_./($+][A-Za-z0-9_./()$+=<>*,;@^~'\"?!|&\[\]{} :-]*\Z")
_IN_FLOW: Final = re.compile(r"[,\[\]{}]")


def emitted(data: Mapping[str, Any], comments: Comments) -> str:
    """A document; `comments`, by path: the lines above a value."""
    return "".join(f"{line}\n" for line in _mapping(data, (), comments))


def _mapping(data: Mapping[str, Any], path: Path, comments: Comments) -> Iterator[str]:
    for key, value in data.items():
        at = (*path, key)
        yield from (f"# {line}" for line in comments.get(at, ()))
        yield from _entry(f"{scalar(key)}:", value, at, comments)


def _entry(lead: str, value: Any, path: Path, comments: Comments) -> Iterator[str]:
    if isinstance(value, dict) and value:
        yield lead
        yield from _indented(_mapping(value, path, comments))
    elif isinstance(value, list) and value:
        line = flow(value)
        if all(not isinstance(item, (dict, list)) for item in value) and len(line) < _WIDTH // 2:
            yield f"{lead} {line}"
            return
        yield lead
        for index, item in enumerate(value):
            yield from _indented(_item(item, (*path, index), comments))
    elif isinstance(value, str) and (lines := _block(lead, value)):
        yield from lines
    else:
        yield f"{lead} {flow(value)}"


def _item(value: Any, path: Path, comments: Comments) -> Iterator[str]:
    yield from (f"# {line}" for line in comments.get(path, ()))
    below = any(key[: len(path)] == path and len(key) > len(path) for key in comments)
    whole = flow(value)
    is_map = isinstance(value, dict) and bool(value)
    if not is_map or (not below and _is_short(value, whole)):
        yield f"- {whole}"
        return
    for number, line in enumerate(_mapping(value, path, comments)):
        yield f"- {line}" if number == 0 else f"  {line}"


def _is_short(value: Mapping[str, Any], line: str) -> bool:
    """Whether an item fits on a line. Expressions, and maps of one key, get lines of their own."""
    return (
        1 < len(value) <= _FLOW_KEYS_MAX
        and len(line) < _WIDTH - 10
        and not any(isinstance(inner, (dict, list)) for inner in value.values())
        and all(_PLAIN.match(text) for text in value.values() if isinstance(text, str))
    )


def _indented(lines: Iterator[str]) -> Iterator[str]:
    return (f"  {line}" if line else line for line in lines)


def _block(lead: str, text: str) -> list[str]:
    """A block scalar for a text that is long or has several lines; empty if quotes are better."""
    is_clean = text == text.strip() and "\t" not in text and text.isprintable()
    if "\n" in text.rstrip("\n") and not re.search(r"(^|\n) |[^\S\n]\n|\t|\n\n\Z", text):
        chomp = "" if text.endswith("\n") else "-"
        return [f"{lead} |{chomp}", *(f"  {line}" if line else "" for line in text.splitlines())]
    if is_clean and len(lead) + len(text) > _WIDTH - 12 and "  " not in text:
        return [f"{lead} >-", *(f"  {line}" for line in _folded(text))]
    return []


def _folded(text: str) -> list[str]:
    """Lines broken before operators if possible. A line break stands for a space."""
    lines = [""]
    for part in re.split(r" (?=(?:&&|\|\||\?|:) )", text):
        if lines[-1] and len(lines[-1]) + len(part) > _WIDTH - 20:
            lines.append("")
        for word in part.split(" "):
            if lines[-1] and len(lines[-1]) + len(word) > _WIDTH - 10:
                lines.append("")
            lines[-1] += f" {word}" if lines[-1] else word
    return lines


def flow(value: Any) -> str:
    """One line of YAML, in flow style."""
    if isinstance(value, dict):
        return f"{{{', '.join(f'{scalar(k, True)}: {flow(v)}' for k, v in value.items())}}}"
    if isinstance(value, list):
        return f"[{', '.join(map(flow, value))}]"
    return scalar(value, in_flow=True)


def scalar(value: Any, in_flow: bool = False) -> str:
    """A scalar, in quotes if it would be read as another value without them."""
    if not isinstance(value, str):
        return json.dumps(value)
    is_plain = (
        _PLAIN.match(value)
        and not value.endswith((" ", ":"))
        and ": " not in value
        and " #" not in value
        and not (in_flow and _IN_FLOW.search(value))
        and plain_value(value) == value
        and not yaml_1_1_kind(value)
    )
    return value if is_plain else json.dumps(value, ensure_ascii=False)
