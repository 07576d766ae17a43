"""Writes the files that follow from the engine's tables: `python -m build.engine_tables`.

Most packages may not import the engine, so the built-ins, the releases, the API kinds and the time
zones are Python modules; the rules of two roles list the kinds. Tests fail while a file differs
from its table.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby
from pathlib import Path
from textwrap import wrap
from typing import Final

from kpolicy.engine import built_ins, feature_gates, object_kinds, releases, time_zones
from kpolicy.scheduler.loop.watched_resources import RECORDED_ONLY

ROOT: Final = Path(__file__).resolve().parents[1]
BUILTIN_TABLE: Final = ROOT / "python/kpolicy/policy/models/builtin_table.py"
RELEASE_TABLE: Final = ROOT / "python/kpolicy/release_table.py"
ZONE_TABLE: Final = ROOT / "python/kpolicy/time_zones.py"
KIND_TABLE: Final = ROOT / "python/kpolicy/object_kinds.py"
_SCHEDULER: Final = "[list, watch]"
# The verbs of each role that lists kinds.
ROLES: Final = {
    ROOT / "deploy/kustomize/base/cluster-role.yaml": _SCHEDULER,
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
_RELEASE_HEAD: Final = '''\
"""The releases that the engine follows, and their gates. Written by `make generated`."""

from __future__ import annotations

from typing import Final, NamedTuple


class ReleaseNames(NamedTuple):
    """Names in metrics that depend on the release: of the events that a pod was added and that its
    last scheduling gate is gone, and of metrics that not every release has."""

    pod_added: str
    gates_gone: str
    metrics: tuple[str, ...]


# Oldest first.
RELEASE_NAMES: Final[dict[str, ReleaseNames]] = {
'''
_GATES_HEAD: Final = """}
RELEASES: Final = tuple(RELEASE_NAMES)

# Name, what each release makes of it (absent, off, on or locked), whether decisions depend on it.
FEATURE_GATES: Final[tuple[tuple[str, tuple[str, ...], bool], ...]] = (
"""
_KIND_HEAD: Final = '''"""The API kinds that the engine reads. Written by `make generated`."""

from __future__ import annotations

from typing import Final, Literal, NamedTuple


class ObjectKind(NamedTuple):
    name: str
    resource: str
    group: str
    version: str
    namespaced: bool
    # With the same fields, newest first, for servers that do not have `version`.
    older_versions: tuple[str, ...] = ()


OBJECT_KINDS: Final[tuple[ObjectKind, ...]] = (
'''
_ZONE_HEAD: Final = '''\
"""The time zones that the engine knows by name. Written by `make generated`."""

from __future__ import annotations

from typing import Final

_NAMES: Final = """
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


def release_text() -> str:
    """The whole of `release_table.py`, as ruff formats it."""

    def listed(texts: Iterable[str]) -> str:
        return ", ".join(f'"{text}"' for text in texts)

    def row(name: str, stages: list[str], is_read: bool) -> str:
        line = f'    ("{name}", ({listed(stages)}), {is_read}),\n'
        if len(line) <= 101:
            return line
        return (
            f'    (\n        "{name}",\n        ({listed(stages)}),\n        {is_read},\n    ),\n'
        )

    names = "".join(
        f'    "{name}": ReleaseNames(\n        "{added}",\n        "{gone}",\n        ('
        + "".join(f'"{metric}", ' for metric in metrics).rstrip(" " if len(metrics) == 1 else ", ")
        + "),\n    ),\n"
        for name, added, gone, metrics in releases()
    )
    gates = "".join(row(*gate) for gate in feature_gates())
    return f"{_RELEASE_HEAD}{names}{_GATES_HEAD}{gates})\n"


def kind_text() -> str:
    """The whole of `object_kinds.py`, as ruff formats it."""

    def row(*texts: str, namespaced: bool, older: list[str]) -> str:
        arguments = [*(f'"{text}"' for text in texts), str(namespaced)]
        if older:
            arguments.append("(" + "".join(f'"{text}", ' for text in older)[:-2] + ")")
        inner = ", ".join(arguments)
        line = f"    ObjectKind({inner}),\n"
        if len(line) <= 101:
            return line
        if len(inner) <= 92:
            return f"    ObjectKind(\n        {inner}\n    ),\n"
        lines = "".join(f"        {argument},\n" for argument in arguments)
        return f"    ObjectKind(\n{lines}    ),\n"

    kinds = object_kinds()
    words = "".join(f'    "{word(name)}",\n' for name, *_ in kinds if name not in _PARTED)
    rows = "".join(
        row(*texts, namespaced=namespaced, older=older) for *texts, namespaced, older in kinds
    )
    return _KIND_HEAD + rows + _WORDS + words + "]\n"


def zone_text() -> str:
    """The whole of `time_zones.py`, as ruff formats it."""
    lines = wrap(" ".join(time_zones()), 100, break_long_words=False, break_on_hyphens=False)
    listed = "".join(f"{line}\n" for line in lines)
    return f'{_ZONE_HEAD}{listed}"""\nTIME_ZONES: Final = frozenset(_NAMES.split())\n'


def role_text(written: str, verbs: str) -> str:
    """The file of a role with the rules between its two marks written anew."""
    before, begin, rest = written.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"the role lacks {BEGIN.strip()!r} or {END.strip()!r}")
    return before + begin + "".join(_rules(verbs)) + end + after


def _rules(verbs: str) -> Iterator[str]:
    left_out = RECORDED_ONLY if verbs == _SCHEDULER else frozenset()
    kinds = sorted(
        (group, resource) for _, resource, group, *_ in object_kinds() if resource not in left_out
    )
    for group, members in groupby(kinds, key=lambda kind: kind[0]):
        resources = "".join(f"      - {resource}\n" for _, resource in members)
        written = group or '""'
        yield f"  - apiGroups: [{written}]\n    resources:\n{resources}    verbs: {verbs}\n"


def expected() -> dict[Path, str]:
    """Every file that is written, with its text."""
    roles = {path: role_text(path.read_text(), verbs) for path, verbs in ROLES.items()}
    return {
        BUILTIN_TABLE: builtin_text(),
        RELEASE_TABLE: release_text(),
        KIND_TABLE: kind_text(),
        ZONE_TABLE: zone_text(),
        **roles,
    }


if __name__ == "__main__":
    for path, text in expected().items():
        path.write_text(text)
