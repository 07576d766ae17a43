"""Names of drivers, classes and attributes of devices: in expressions and in recorded clusters."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from kpolicy.offline.snapshots.json_objects import Json, mapping_at
from kpolicy.policy.cel.tree import Read, Tree
from kpolicy.policy.lint.lookups import literal_text

DRIVER: Final = "driver"
CLASS: Final = "DeviceClass"
ATTRIBUTE: Final = "attribute"
KINDS: Final = frozenset({DRIVER, CLASS, ATTRIBUTE})
# What the arguments of a fact name, in order.
_NAMED_BY: Final = {
    "node.devices.count": (DRIVER,),
    "node.devices.free": (DRIVER,),
    "node.devices.countOfClass": (CLASS,),
    "node.devices.freeOfClass": (CLASS,),
    "node.devices.countWith": (DRIVER, ATTRIBUTE),
    "node.devices.freeWith": (DRIVER, ATTRIBUTE),
    "allocation.distinct": (ATTRIBUTE,),
    "allocation.values": (ATTRIBUTE,),
}


def is_of_devices(read: Read) -> bool:
    return read.name in _NAMED_BY


def named_devices(read: Read) -> Iterator[tuple[str, str, Tree]]:
    """The kind, the name and the place of each name. An attribute is named with its domain, which
    is the driver where the expression has none."""
    driver = ""
    for kind, argument in zip(_NAMED_BY[read.name], read.args, strict=False):
        text = literal_text(argument)
        if text is None:
            return
        if kind == DRIVER:
            driver = text
        yield kind, _qualified(text, driver) if kind == ATTRIBUTE else text, argument


def _qualified(name: str, driver: str) -> str:
    return name if "/" in name or not driver else f"{driver}/{name}"


@dataclass(slots=True)
class DeviceNames:
    """`drivers` counts ResourceSlices, `attributes` devices."""

    drivers: Counter[str] = field(default_factory=Counter)
    classes: Counter[str] = field(default_factory=Counter)
    attributes: Counter[str] = field(default_factory=Counter)

    def known(self, kind: str) -> Counter[str]:
        return {DRIVER: self.drivers, CLASS: self.classes}.get(kind, self.attributes)

    def take_class(self, name: str) -> None:
        self.classes[name] += 1

    def take_slice(self, item: Json) -> None:
        spec = mapping_at(item, "spec")
        driver, devices = str(spec.get("driver") or ""), spec.get("devices")
        self.drivers[driver] += 1
        for device in devices if isinstance(devices, Sequence) else ():
            # In v1beta1 the attributes are one level deeper.
            parts = (device, mapping_at(device, "basic")) if isinstance(device, dict) else ()
            for part in parts:
                names = mapping_at(part, "attributes")
                self.attributes.update(_qualified(name, driver) for name in names)
