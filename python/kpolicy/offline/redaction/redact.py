"""`redact`: a whole cluster without its names.

A first pass over all objects finds what single objects cannot tell: labels whose values are
compared as numbers, and claims whose names are made from a pod's and a volume's.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any, Final, NamedTuple

from kpolicy.offline.redaction.device_rules import literals
from kpolicy.offline.redaction.field_rules import Place, Words
from kpolicy.offline.redaction.object_rules import KINDS
from kpolicy.offline.snapshot_file.reader import Origin, Redaction
from kpolicy.offline.snapshots.cluster_snapshot import Snapshot
from kpolicy.offline.snapshots.json_objects import Json, is_read, name_of

KEY_BYTES_MIN: Final = 16
_FINGERPRINT_BYTES: Final = 8
_NUMBERS: Final = frozenset({"Gt", "Lt"})
_NAMESPACE: Final = "default"  # of what names none, as the engine has it


class Ephemeral(NamedTuple):
    """A volume for which the API makes a claim named after both."""

    namespace: str
    pod: str
    volume: str


class Redactor:
    """`Redactor(key, objects)` has looked over the objects; `redacted` gives them again."""

    def __init__(
        self,
        key: bytes,
        objects: Callable[[], Iterable[Json]],
        *,
        keep_labels: Iterable[str] = (),
        keep_namespaces: Iterable[str] = (),
    ) -> None:
        if len(key) < KEY_BYTES_MIN:
            raise ValueError(f"a key has at least {KEY_BYTES_MIN} bytes")
        self._objects = objects
        compared: set[str] = set()
        selected: set[str] = set()
        volumes: set[Ephemeral] = set()
        for item in objects():
            if item.get("kind") in ("DeviceClass", "ResourceClaim"):
                selected.update(literals(item))
            if item.get("kind") in ("Pod", "PersistentVolume", "ResourceSlice"):
                compared.update(_compared(item.get("spec")))
            if item.get("kind") == "Pod":
                volumes.update(_ephemeral(item))
        self.words = Words(
            key,
            keep_labels=keep_labels,
            keep_namespaces=keep_namespaces,
            compared=compared,
            selected=selected,
        )
        name = self.words.name
        self._claims: dict[tuple[str, str], str] = {}
        for ephemeral in sorted(volumes):
            made = f"{name(ephemeral.pod)}-{name(ephemeral.volume)}"
            self._claims.setdefault(
                (ephemeral.namespace, f"{ephemeral.pod}-{ephemeral.volume}"), made
            )

    def redacted(self) -> Iterator[Json]:
        """Those that a rule reads and that have a name; all others are left out."""
        for item in self._objects():
            if is_read(item) and name_of(item):
                yield self.of(item)

    def of(self, item: Json) -> Json:
        """An object that a rule reads and that has a name."""
        place = Place(self.words, _namespace(item), self._claims)
        redacted: Json = KINDS[str(item["kind"])](place, item)
        return redacted


def _namespace(item: Mapping[str, Any]) -> str:
    return str(item["metadata"].get("namespace") or _NAMESPACE)


def _ephemeral(pod: Json) -> Iterator[Ephemeral]:
    spec = pod.get("spec")
    volumes = spec.get("volumes") if isinstance(spec, dict) else None
    for volume in volumes if isinstance(volumes, list) and name_of(pod) else ():
        if isinstance(volume, dict) and volume.get("ephemeral") is not None:
            yield Ephemeral(_namespace(pod), name_of(pod), str(volume.get("name") or ""))


def _compared(value: Any) -> Iterator[str]:
    """Keys of requirements with Gt or Lt, however deep they stand."""
    waiting = [value]
    while waiting:
        part = waiting.pop()
        if isinstance(part, list):
            waiting += part
        elif isinstance(part, dict):
            if part.get("operator") in _NUMBERS and isinstance(part.get("key"), str):
                yield part["key"]
            waiting += part.values()


def redactor(
    snapshot: Snapshot,
    key: bytes,
    *,
    keep_labels: Iterable[str] = (),
    keep_namespaces: Iterable[str] = (),
) -> Redactor:
    """What can give the snapshot's objects without their names; raises `ValueError` for a key that
    is too short."""

    def objects() -> Iterator[Json]:
        return (item for _, item in snapshot.objects())

    return Redactor(key, objects, keep_labels=keep_labels, keep_namespaces=keep_namespaces)


def redact(
    snapshot: Snapshot,
    key: bytes,
    *,
    keep_labels: Iterable[str] = (),
    keep_namespaces: Iterable[str] = (),
) -> Iterator[Json]:
    """API objects that decide as the snapshot's do, under other names: the same key gives the same
    names."""
    return redactor(
        snapshot, key, keep_labels=keep_labels, keep_namespaces=keep_namespaces
    ).redacted()


def redacted_origin(
    snapshot: Snapshot,
    key: bytes,
    keep_labels: Iterable[str] = (),
    keep_namespaces: Iterable[str] = (),
) -> Origin:
    """Time and versions stay when there is one recording that says them."""
    recordings = snapshot.recordings
    origin = recordings[0].header.origin if len(recordings) == 1 else Origin()
    redaction = Redaction(tuple(keep_labels), tuple(keep_namespaces), fingerprint(key))
    return replace(origin, redaction=redaction)


def fingerprint(key: bytes) -> str:
    """Tells keys apart. No name is ever replaced by this word."""
    digest = hmac.new(key, b"kpolicy: which key", hashlib.sha256).digest()
    return digest[:_FINGERPRINT_BYTES].hex()
