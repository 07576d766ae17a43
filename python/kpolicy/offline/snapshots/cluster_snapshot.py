"""A snapshot: the objects of a cluster read from files, and engines that hold them.

Keeps the texts and parses objects again for each walk. The engine reports what it cannot read. Pods
are found by the names that a user writes, and can be judged as if they were pending.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any, Final

from kpolicy.api_times import time_of
from kpolicy.diagnostics import did_you_mean
from kpolicy.engine import Engine, PodChange, Refusal, Unreadable
from kpolicy.offline.input_files import File, read_files
from kpolicy.offline.limits import NAMES_COMPARED_MAX
from kpolicy.offline.snapshot_file.reader import Header
from kpolicy.offline.snapshots.inventory import ENDED, Inventory, inventory
from kpolicy.offline.snapshots.json_objects import (
    DEFAULT_SCHEDULER,
    Broken,
    Json,
    key_of,
    mapping_at,
    objects,
)
from kpolicy.offline.snapshots.simulator_export import export_as_list
from kpolicy.offline.snapshots.snapshot_problem import CUT_SHORT, NOT_A_SNAPSHOT, Problem
from kpolicy.offline.snapshots.yaml_objects import json_documents
from kpolicy.policy.assembly.assemble import Program
from kpolicy.policy.compile import compile_policy
from kpolicy.quick_dataclass import dataclass

_NOT_JSON: Final = "NotJson"
Progress = Callable[[int, int], None]


class PolicyRefusedError(ValueError):
    """A compiled program that this engine does not take, which is seldom a user's fault."""

    def __init__(self, refusals: Iterable[Refusal]) -> None:
        self.refusals = tuple(refusals)
        super().__init__(
            "; ".join(f"{refusal.place}: {refusal.message}" for refusal in self.refusals)
        )


@dataclass(frozen=True, slots=True)
class Text:
    """JSON documents one after another, and the file they come from."""

    source: str
    body: bytes


@dataclass(frozen=True, slots=True)
class Recorded:
    """The header of a recorded snapshot, and its file."""

    source: str
    header: Header


class Snapshot:
    """`Snapshot.load(["cluster.json"]).engine()` is an engine with that cluster in it."""

    __slots__ = (
        "_inventory",
        "_unread",
        "cluster_version",
        "file_problems",
        "now_ns",
        "recordings",
        "texts",
    )

    def __init__(
        self,
        texts: Iterable[Text],
        problems: Iterable[Problem] = (),
        recordings: Iterable[Recorded] = (),
        *,
        cluster_version: str = "",
        now_ns: int | None = None,
    ) -> None:
        self.texts = tuple(texts)
        # The origins of files that `kpolicy snapshot record` or `redact` wrote.
        self.recordings = tuple(recordings)
        # Of Kubernetes, where it is known.
        recorded = (found.header.origin.cluster_version for found in self.recordings)
        self.cluster_version = cluster_version or next(filter(None, recorded), "")
        # The time as of which rules decide; None where it is unknown when this was the cluster.
        times = (_time_of(found.header.origin.recorded) for found in self.recordings)
        self.now_ns = max(filter(None, times), default=None) if now_ns is None else now_ns
        # Problems that are known without parsing objects.
        self.file_problems = tuple(problems)
        self._unread: tuple[Problem, ...] | None = None
        self._inventory: Inventory | None = None

    @classmethod
    def load(
        cls,
        paths: Iterable[str | Path] | str | Path,
        *,
        progress: Progress | None = None,
    ) -> Snapshot:
        """Files, folders, or `-` for standard input; what cannot be read is among `problems`."""
        arguments = [paths] if isinstance(paths, (str, Path)) else list(paths)
        texts: list[Text] = []
        problems: list[Problem] = []
        recordings: list[Recorded] = []
        for argument, files in enumerate(map(read_files, arguments)):
            for found in files:
                if isinstance(found, File) and found.header is not None:
                    recordings.append(Recorded(found.name, found.header))
                for read in _texts(found) if isinstance(found, File) else (found,):
                    if isinstance(read, Problem):
                        problems.append(read)
                    else:
                        texts.append(read)
                if progress is not None:
                    progress(argument + 1, len(arguments))
        return cls(texts, problems, recordings)

    @classmethod
    def of(cls, items: Iterable[Mapping[str, Any]], source: str = "") -> Snapshot:
        """A snapshot of API objects in memory."""
        document = {"apiVersion": "v1", "kind": "List", "items": list(items)}
        return cls([Text(source, json.dumps(document).encode())])

    @property
    def size_bytes(self) -> int:
        return sum(len(text.body) for text in self.texts)

    @property
    def problems(self) -> tuple[Problem, ...]:
        """The problems of files first, then of objects."""
        if self._unread is None:
            self._read_into(Engine())
        return self.file_problems + (self._unread or ())

    def engine(self, policy: Program | None = None, *, seed: int = 0) -> Engine:
        """An engine with these objects and this program in force; `None` is what kube-scheduler
        does, for every pending pod. Raises `PolicyRefusedError`."""
        engine = loaded_engine(policy or default_program(self.cluster_version), seed)
        self._read_into(engine)
        return engine

    def objects(self) -> Iterator[tuple[str, Json]]:
        """Every object with its file, also of kinds that no rule reads; one at a time."""
        found = ((text.source, item) for text in self.texts for item in objects(text.body))
        return ((source, item) for source, item in found if not isinstance(item, Broken))

    @property
    def inventory(self) -> Inventory:
        """Each object in a few words; the first use walks all of them."""
        if self._inventory is None:
            self._inventory = inventory(self.objects())
        return self._inventory

    def walk(self, *seers: Callable[[Json], None]) -> Inventory:
        """Shows every object in the order of `objects`, and takes the inventory in the same walk:
        to read a large snapshot takes longer than most questions about its objects."""

        def shown() -> Iterator[tuple[str, Json]]:
            for source, item in self.objects():
                for see in seers:
                    see(item)
                yield source, item

        self._inventory = inventory(shown())
        return self._inventory

    def _read_into(self, engine: Engine) -> None:
        self._unread = tuple(
            _problem(text, unread)
            for text in self.texts
            for unread in engine.load_objects(text.body, "")
        )


def loaded_engine(program: Program, seed: int = 0, threads: int | None = None) -> Engine:
    """An engine with this program in force. Raises `PolicyRefusedError`."""
    engine = Engine(seed, threads=threads)
    refusals = engine.load(program.bytes)
    if refusals:
        raise PolicyRefusedError(refusals)
    return engine


def default_program(cluster_version: str = "") -> Program:
    """`kube-scheduler-default`, serving every pending pod, as the cluster's release decides."""
    program = compile_policy((), every_pod=True, cluster_version=cluster_version).program
    assert program is not None, "the policy that we ship compiles"
    return program


def _time_of(recorded: str) -> int | None:
    try:
        return time_of(recorded)
    except ValueError:
        return None


def _texts(file: File) -> Iterator[Text | Problem]:
    if _is_json(file):
        yield Text(file.name, export_as_list(file.text) or file.text)
        return
    for document in json_documents(file.name, file.text):
        if isinstance(document, Problem):
            yield document
        elif document[:1] in b"{[":
            yield Text(file.name, export_as_list(document) or document)
        else:
            message = "neither JSON nor YAML of API objects"
            yield Problem(NOT_A_SNAPSHOT, file.name, "", message)


def _is_json(file: File) -> bool:
    """By the first character; a YAML file may begin like that too, in flow style."""
    if file.header is not None:
        return True
    start = file.text[:64].removeprefix(b"\xef\xbb\xbf").lstrip()
    if start[:1] not in (b"{", b"["):
        return not file.text.strip()
    if not file.name.removesuffix(".gz").endswith((".yaml", ".yml")):
        return True
    try:
        json.loads(file.text)
    except (ValueError, RecursionError):
        return False
    return True


def _problem(text: Text, unread: Unreadable) -> Problem:
    items = objects(text.body) if unread.code == _NOT_JSON else ()
    broken = next((item for item in items if isinstance(item, Broken)), None)
    if broken is None:
        return Problem(unread.code, text.source, unread.object, unread.message)
    message = f"cut short or broken at line {broken.line}; what comes before is used"
    return Problem(CUT_SHORT, text.source, broken.object, message)


_NOW_NS: Final = 0


@dataclass(frozen=True, slots=True)
class NotExplained:
    """A pod that was asked for and has no explanation; `hint` may be empty."""

    pod: str
    message: str
    hint: str = ""

    def __str__(self) -> str:
        return f"{self.pod}: {self.message}" + (f"; {self.hint}" if self.hint else "")


def key_of_pod(pod: PodChange) -> str:
    return f"{pod.namespace}/{pod.name}"


def full_key(written: str) -> str:
    """`web` means `default/web`."""
    return written if "/" in written else f"default/{written}"


def scheduler_of(pod: Json) -> str:
    return str(mapping_at(pod, "spec").get("schedulerName") or DEFAULT_SCHEDULER)


def node_of(pod: Json) -> str:
    return str(mapping_at(pod, "spec").get("nodeName") or "")


def has_ended(pod: Json) -> bool:
    return mapping_at(pod, "status").get("phase") in ENDED


def queue_order(pods: Iterable[PodChange]) -> list[PodChange]:
    """The order in which a scheduler tries pods: by priority, creation and name."""
    return sorted(
        pods, key=lambda pod: (-pod.priority, pod.created_ns, pod.namespace, pod.name, pod.uid)
    )


def pods_of(snapshot: Snapshot) -> Iterator[Json]:
    items = (item for _, item in snapshot.objects() if item.get("kind") == "Pod")
    return (item for item in items if isinstance(item.get("metadata"), dict))


def pods_by_key(snapshot: Snapshot, keys: Sequence[str]) -> dict[str, Json]:
    """The snapshot's objects of these pods. Walks the snapshot only if there are any keys."""
    found = ((key_of(pod), pod) for pod in (pods_of(snapshot) if keys else ()))
    return {key: pod for key, pod in found if key in keys}


def unknown_pod(snapshot: Snapshot, key: str) -> NotExplained:
    """Hints at the pod that was perhaps meant."""
    name = key.partition("/")[2]
    known = list(islice(map(key_of, pods_of(snapshot)), NAMES_COMPARED_MAX))
    elsewhere = sorted(other for other in known if other.endswith(f"/{name}"))
    hint = f"did you mean `{elsewhere[0]}`?" if elsewhere else did_you_mean(key, known)
    return NotExplained(
        key,
        "there is no such pod in the snapshot",
        hint if known else "there is no pod in it",
    )


class Gathered:
    """Objects that arrive kind by kind, for a snapshot in memory; a kind may begin again."""

    def __init__(self) -> None:
        self._texts: defaultdict[str, list[str]] = defaultdict(list)

    def discard(self, kind: str) -> None:
        self._texts.pop(kind, None)

    def add(self, item: Mapping[str, Any]) -> Problem | None:
        self._texts[str(item.get("kind"))].append(json.dumps(item))
        return None

    def snapshot(self, source: str, cluster_version: str, now_ns: int) -> Snapshot:
        texts = (Text(source, "\n".join(lines).encode()) for lines in self._texts.values())
        return Snapshot(texts, cluster_version=cluster_version, now_ns=now_ns)


def as_pending(pod: Json, scheduler_name: str = "") -> Json:
    """The pod without its node and status; with another scheduler name, if one is given."""
    spec = {name: value for name, value in mapping_at(pod, "spec").items() if name != "nodeName"}
    if scheduler_name:
        spec["schedulerName"] = scheduler_name
    return {**{name: value for name, value in pod.items() if name != "status"}, "spec": spec}


def watch_lines(*events: tuple[str, Any]) -> bytes:
    """Lines of a watch, such as `("DELETED", pod)`."""
    lines = (json.dumps({"type": kind, "object": item}) + "\n" for kind, item in events)
    return "".join(lines).encode()


@contextmanager
def unplaced(engine: Engine, pod: Json) -> Iterator[None]:
    """Inside, the engine holds the pod as pending; afterwards as before."""
    pending = as_pending(pod)
    engine.watch("pods", watch_lines(("DELETED", pod), ("ADDED", pending)), _NOW_NS)
    try:
        yield
    finally:
        engine.watch("pods", watch_lines(("DELETED", pending), ("ADDED", pod)), _NOW_NS)
