"""Says what a version of kube-scheduler's source changes: `python -m build.next_release FOLDER`.

FOLDER is a tree of the Go module k8s.io/kubernetes. What is read of it (feature gates, default
plugins and their weights, texts for users, metrics) is compared with what was read of the newest
release that kpolicy follows, which `--write` replaces. docs/internals/adopting-a-release.md says
what to do then.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

KNOWN: Final = Path(__file__).with_name("kube_scheduler_source.json")
_SCHEDULER: Final = Path("pkg/scheduler")
_GATES: Final = Path("pkg/features/kube_features.go")
_PLUGINS: Final = _SCHEDULER / "apis/config/v1/default_plugins.go"
_METRICS: Final = _SCHEDULER / "metrics/metrics.go"

_NAMED: Final = re.compile(r'^\t(\w+)\s+featuregate\.Feature = "(\w+)"', re.M)
_SPECS: Final = re.compile(r"^\t(\w+): \{\n((?:\t\t(?:\{Version: |//).*\n)+)\t\}", re.M)
_SPEC: Final = re.compile(r'MustParse\("1\.(\d+)"\), Default: (true|false)([^}]*)\}')
_LOCK: Final = "LockToDefault: true"
_VERSION: Final = re.compile(r'MustParse\("1\.(\d+)"\)')
_USED: Final = re.compile(r"\bfeatures\.([A-Z]\w+)")
_PLUGIN: Final = re.compile(r"Name: names\.(\w+)(?:, Weight: ptr\.To\[int32\]\((\d+)\))?")
_METRIC: Final = re.compile(r'^\s+Name:\s+"(\w+)"', re.M)
_TEXT: Final = re.compile(r'"((?:[^"\\\n]|\\.)* (?:[^"\\\n]|\\.)*)"')
# Lines that make texts for conditions and events, and not for logs or failures of kube-scheduler.
_FOR_USERS: Final = re.compile(r"NewStatus\(|Reason|Sprintf\(")
_FOR_LOGS: Final = re.compile(r"logger\.|klog\.|utilruntime\.|^\s*//")


class NotAModuleError(Exception):
    """The folder is not a tree of k8s.io/kubernetes."""


@dataclass(frozen=True, slots=True)
class Source:
    """What kpolicy needs to know of one version. `gates`: those that the scheduler reads, each off,
    on or locked. `plugins`: weights of those that are on by default or by a gate."""

    release: str
    gates: Mapping[str, str]
    plugins: Mapping[str, int]
    texts: tuple[str, ...]
    metrics: tuple[str, ...]


def read_source(folder: Path) -> Source:
    """Raises `NotAModuleError`."""
    for file in (_GATES, _PLUGINS, _METRICS):
        if not (folder / file).is_file():
            raise NotAModuleError(f"{folder} is not a tree of k8s.io/kubernetes: it has no {file}")
    code = list(_code(folder / _SCHEDULER))
    gates_text = (folder / _GATES).read_text()
    stages = dict(_stages(gates_text))
    used = {name for text in code for name in _USED.findall(text)}
    plugins = _PLUGIN.findall((folder / _PLUGINS).read_text())
    return Source(
        # The newest version that a gate names is that of the tree.
        f"1.{max(map(int, _VERSION.findall(gates_text)))}",
        {name: stages[name] for name in sorted(used & stages.keys())},
        dict(sorted((name, int(weight or 0)) for name, weight in plugins)),
        tuple(sorted({text for file in code for text in _texts(file)})),
        tuple(sorted(set(_METRIC.findall((folder / _METRICS).read_text())))),
    )


def _code(folder: Path) -> Iterator[str]:
    for file in sorted(folder.rglob("*.go")):
        if not file.name.endswith("_test.go") and "testing" not in file.parts:
            yield file.read_text()


def _stages(text: str) -> Iterator[tuple[str, str]]:
    """What the version makes of each gate: the last entry of a gate counts."""
    names = dict(_NAMED.findall(text))
    for constant, specs in _SPECS.findall(text):
        _, default, rest = sorted(_SPEC.findall(specs), key=lambda found: int(found[0]))[-1]
        stage = "locked" if _LOCK in rest else "on" if default == "true" else "off"
        yield names.get(constant, constant), stage


def _texts(code: str) -> Iterator[str]:
    for line in code.splitlines():
        if _FOR_USERS.search(line) and not _FOR_LOGS.search(line):
            yield from _TEXT.findall(line)


def known_source() -> Source:
    """What was read of the newest release that kpolicy follows."""
    document = json.loads(KNOWN.read_text())
    return Source(**{**document, **{key: tuple(document[key]) for key in ("texts", "metrics")}})


def written(source: Source) -> str:
    return json.dumps(asdict(source), indent=1, sort_keys=True, ensure_ascii=False) + "\n"


def differences(old: Source, new: Source) -> Iterator[str]:
    """A line for each difference, under a heading for each kind."""
    for heading, before, after in (
        ("feature gates that the scheduler reads", old.gates, new.gates),
        ("default plugins and their weights", old.plugins, new.plugins),
        ("texts for users", dict.fromkeys(old.texts, ""), dict.fromkeys(new.texts, "")),
        ("metrics", dict.fromkeys(old.metrics, ""), dict.fromkeys(new.metrics, "")),
    ):
        lines = list(_changes(before, after))
        if lines:
            yield f"{heading}:"
            yield from lines


def _changes(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[str]:
    for name in sorted(before.keys() | after.keys()):
        if name not in after:
            yield f"  - {name}"
        elif name not in before:
            yield f"  + {name} {after[name]}".rstrip()
        elif before[name] != after[name]:
            yield f"  {name}: {before[name]}, now {after[name]}"


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m build.next_release", description=__doc__)
    parser.add_argument("folder", type=Path, help="a tree of k8s.io/kubernetes")
    parser.add_argument("--write", action="store_true", help="remember what was read")
    arguments = parser.parse_args()
    try:
        found = read_source(arguments.folder)
    except NotAModuleError as error:
        print(error, file=sys.stderr)
        return 2
    known = known_source() if KNOWN.is_file() else found
    print(f"Kubernetes {found.release}, against {known.release}")
    lines = list(differences(known, found))
    print("\n".join(lines or ["nothing that kpolicy follows has changed"]))
    if arguments.write:
        KNOWN.write_text(written(found))
    return 0


if __name__ == "__main__":
    sys.exit(main())
