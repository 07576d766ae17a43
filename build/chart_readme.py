"""Writes the README of the chart: `python -m build.chart_readme`.

The table of values is made of `values.yaml`: its comments say what each value means, and a test
fails while the README differs from them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

import yaml

CHART: Final = Path(__file__).resolve().parents[1] / "deploy/chart"
README: Final = CHART / "README.md"
_HEAD: Final = """\
# The Helm chart of kpolicy

It installs kpolicy beside kube-scheduler, or instead of it (`mode: replacement`):

```sh
helm install kpolicy deploy/chart -n kpolicy-system --create-namespace
helm test kpolicy -n kpolicy-system
```

`helm test` creates a pod that kpolicy has to place, and waits until it has run. A value that the
chart does not know is refused. [Upgrading](../../docs/guides/upgrading.md) describes the change to
another version, and the way back.

## Values

`make generated` writes this table from [values.yaml](values.yaml).

| value | default | meaning |
|---|---|---|
"""
_TABLE: Final = "   "
# Longer defaults are shown in values.yaml.
_DEFAULT_CHARACTERS_MAX: Final = 60


class Value(NamedTuple):
    path: str
    default: str  # empty for a group, whose values follow
    meaning: str


def readme() -> str:
    rows = (
        f"| `{value.path}` | {_code(value.default)} | {value.meaning} |\n" for value in values()
    )
    return _HEAD + "".join(rows)


def values() -> Iterator[Value]:
    """In the order of the file. A group has a row of its own only if it has a comment of its own
    and more than one value."""
    text = (CHART / "values.yaml").read_text("utf-8")
    root = yaml.compose(text)
    assert isinstance(root, yaml.MappingNode)
    yield from _values(root, "", text.splitlines())


def _values(group: yaml.MappingNode, prefix: str, lines: list[str]) -> Iterator[Value]:
    for key, node in group.value:
        path = f"{prefix}{key.value}"
        # Only the first key of a line in flow style can have the comment above the line.
        is_first = not lines[key.start_mark.line][: key.start_mark.column].strip()
        meaning = _comment_above(lines, key.start_mark.line) if is_first else ""
        if not isinstance(node, yaml.MappingNode) or not node.value:
            yield Value(
                path, json.dumps(yaml.SafeLoader("").construct_object(node, deep=True)), meaning
            )
            continue
        inner = list(_values(node, f"{path}.", lines))
        if len(inner) == 1 and not inner[0].meaning:
            inner = [inner[0]._replace(meaning=meaning)]
        elif meaning:
            yield Value(path, "", meaning)
        yield from inner


def _comment_above(lines: list[str], line: int) -> str:
    """Without its tables, whose lines are indented."""
    comment: list[str] = []
    while line and lines[line - 1].lstrip().startswith("#"):
        line -= 1
        text = lines[line].strip().removeprefix("#")
        comment.insert(0, "" if text.startswith(_TABLE) else text.strip())
    return " ".join(text for text in comment if text).replace("|", "\\|")


def _code(default: str) -> str:
    if len(default) > _DEFAULT_CHARACTERS_MAX:
        return "see values.yaml"
    return f"`{default}`" if default else ""


if __name__ == "__main__":
    README.write_text(readme(), "utf-8")
