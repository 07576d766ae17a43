"""Writes what follows from the engine's table of API kinds: `python -m build.object_kinds`.

The files are `object_kinds.py`, because most packages may not import the engine, and the rules of
two roles. A test fails while a file differs from the table.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import Final

from kpolicy.engine import object_kinds

ROOT: Final = Path(__file__).resolve().parents[1]
TABLE: Final = ROOT / "python/kpolicy/object_kinds.py"
# The verbs of each role that lists every kind.
ROLES: Final = {
    ROOT / "deploy/kustomize/base/cluster-role.yaml": "[list, watch]",
    ROOT / "deploy/rbac/snapshot-recorder.yaml": "[list]",
}
BEGIN: Final = "  # `make generated` writes these rules from the engine's table of kinds.\n"
END: Final = "  # End of the rules that `make generated` writes.\n"
_HEAD: Final = '''"""The API kinds that the engine reads. Written by `make generated`."""

from __future__ import annotations

from typing import Final, Literal, NamedTuple


class ObjectKind(NamedTuple):
    name: str
    resource: str
    group: str
    version: str
    namespaced: bool


OBJECT_KINDS: Final[tuple[ObjectKind, ...]] = (
'''
_WORDS: Final = """)

# The kinds in tests of policies: what a parked pod waits for. Pods and nodes have words in parts.
KindWord = Literal[
"""
_PARTED: Final = ("Pod", "Node")


def word(name: str) -> str:
    """`csiNode` for `CSINode`, `storageClass` for `StorageClass`."""
    capitals = len(name) - len(name.lstrip("ABCDEFGHIJKLMNOPQRSTUVWXYZ"))
    head = max(capitals - 1, 1)
    return name[:head].lower() + name[head:]


def table_text() -> str:
    """The whole of `object_kinds.py`, as ruff formats it."""

    def row(name: str, resource: str, group: str, version: str, namespaced: bool) -> str:
        arguments = [f'"{text}"' for text in (name, resource, group, version)]
        line = f"    ObjectKind({', '.join((*arguments, str(namespaced)))}),\n"
        if len(line) <= 101:
            return line
        inner = ", ".join((*arguments, str(namespaced)))
        return f"    ObjectKind(\n        {inner}\n    ),\n"

    kinds = object_kinds()
    words = "".join(f'    "{word(name)}",\n' for name, *_ in kinds if name not in _PARTED)
    return _HEAD + "".join(row(*kind) for kind in kinds) + _WORDS + words + "]\n"


def role_text(written: str, verbs: str) -> str:
    """The file of a role with the rules between its two marks written anew."""
    before, begin, rest = written.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"the role lacks {BEGIN.strip()!r} or {END.strip()!r}")
    return before + begin + "".join(_rules(verbs)) + end + after


def _rules(verbs: str) -> Iterator[str]:
    kinds = sorted((group, resource) for _, resource, group, _, _ in object_kinds())
    for group, members in groupby(kinds, key=lambda kind: kind[0]):
        resources = "".join(f"      - {resource}\n" for _, resource in members)
        written = group or '""'
        yield f"  - apiGroups: [{written}]\n    resources:\n{resources}    verbs: {verbs}\n"


def expected() -> dict[Path, str]:
    """Every file that is written, with its text."""
    roles = {path: role_text(path.read_text(), verbs) for path, verbs in ROLES.items()}
    return {TABLE: table_text(), **roles}


if __name__ == "__main__":
    for path, text in expected().items():
        path.write_text(text)
