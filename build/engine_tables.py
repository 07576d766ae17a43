"""Writes the files that follow from the engine's tables: `python -m build.engine_tables`.

Most packages may not import the engine, so the built-ins and the API kinds are Python modules; the
rules of two roles list the kinds. Tests fail while a file differs from its table.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import Final

from kpolicy.engine import built_ins, object_kinds

ROOT: Final = Path(__file__).resolve().parents[1]
BUILTIN_TABLE: Final = ROOT / "python/kpolicy/policy/models/builtin_table.py"
KIND_TABLE: Final = ROOT / "python/kpolicy/object_kinds.py"
# The verbs of each role that lists every kind.
ROLES: Final = {
    ROOT / "deploy/kustomize/base/cluster-role.yaml": "[list, watch]",
    ROOT / "deploy/rbac/snapshot-recorder.yaml": "[list]",
}
BEGIN: Final = "  # `make generated` writes these rules from the engine's table of kinds.\n"
END: Final = "  # End of the rules that `make generated` writes.\n"
_BUILTIN_HEAD: Final = '''"""The built-ins of the engine. Written by `make generated`."""

from __future__ import annotations

from typing import Final

# In the order of filters: name, whether it filters, whether it scores, whether kube-scheduler's
# default profile has it, its weight there.
BUILTIN_TABLE: Final[tuple[tuple[str, bool, bool, bool, int], ...]] = (
'''
_KIND_HEAD: Final = '''"""The API kinds that the engine reads. Written by `make generated`."""

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


def builtin_text() -> str:
    """The whole of `builtin_table.py`, as ruff formats it."""
    rows = (
        f'    ("{name}", {filters}, {scores}, {is_default}, {weight}),\n'
        for name, filters, scores, is_default, weight in built_ins()
    )
    return _BUILTIN_HEAD + "".join(rows) + ")\n"


def kind_text() -> str:
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
    return _KIND_HEAD + "".join(row(*kind) for kind in kinds) + _WORDS + words + "]\n"


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
    return {BUILTIN_TABLE: builtin_text(), KIND_TABLE: kind_text(), **roles}


if __name__ == "__main__":
    for path, text in expected().items():
        path.write_text(text)
