"""Policies that a ConfigMap manifest carries as texts.

Owns which values of a manifest are such texts, and writing one anew in its place: with the header,
the indentation and the end of its block as they were. Assumes exact spans. Must not know how a
policy is laid out.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from kpolicy.policy.tree import Mapping, Node, Path, Scalar, find, items, string

POLICY_KEYS: Final = (".yaml", ".yml", ".json", ".cfg")


def carried(root: Node, path: Path = ()) -> Iterator[tuple[Path, Scalar]]:
    """The texts that may be policies, with their paths."""
    match string(find(root, ("kind",))):
        case "ConfigMap":
            data = find(root, ("data",))
            for entry in data.entries if isinstance(data, Mapping) else ():
                if isinstance(entry.value, Scalar) and entry.key.text.endswith(POLICY_KEYS):
                    yield (*path, "data", entry.key.text), entry.value
        case "List":
            for index, item in enumerate(items(find(root, ("items",)))):
                yield from carried(item, (*path, "items", index))


def is_writable(scalar: Scalar) -> bool:
    """Only a literal block shows each line as it is."""
    return scalar.style == "|"


def written_anew(text: str, scalar: Scalar, value: str) -> str:
    """`text` with another value in the block; blank lines at its end stay as they are."""
    raw = text[scalar.span.start : scalar.span.end]
    header, _, content = raw.partition("\n")
    pad = " " * _indentation(content, scalar.text)
    lines = [f"{pad}{line}" if line else "" for line in value.rstrip("\n").split("\n")]
    end = "\r\n" if header.endswith("\r") else "\n"
    last = content.find("\n", len(content.rstrip()))
    rest = content[last + 1 :] if last >= 0 else None
    block = f"{header}\n{end.join(lines)}" + ("" if rest is None else f"{end}{rest}")
    return text[: scalar.span.start] + block + text[scalar.span.end :]


def _indentation(content: str, value: str) -> int:
    """Of the block: how much longer its first line is than that of the value."""
    lines = zip(content.splitlines(), value.splitlines(), strict=False)
    return next((len(raw) - len(line) for raw, line in lines if line.strip()), 0)
