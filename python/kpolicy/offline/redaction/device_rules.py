"""Which fields redaction keeps or replaces in classes, slices and claims of devices.

Drivers and classes are products, and stay. So do selectors, which are CEL. A text among a device's
attributes is replaced, unless a selector has a part of it. Parameters of drivers are dropped.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from kpolicy.offline.redaction.field_rules import (
    Place,
    Rule,
    amounts,
    fields,
    kept,
    list_of,
    name,
    node_selector,
    taint,
    text,
    uid,
)

_LITERAL: Final = re.compile(r'"([^"\\]+)"|' + r"'([^'\\]+)'")

# `request` or `request/alternative`.
_request = uid


def by_key(rule: Rule) -> Rule:
    """A map whose keys stay."""

    def of_map(place: Place, value: Any) -> Any:
        if not isinstance(value, dict):
            return kept(place, value)
        return {key: rule(place, item) for key, item in value.items() if isinstance(item, dict)}

    return of_map


_selectors = list_of(fields(cel=fields(expression=kept)))
_attribute = fields(
    int=kept,
    bool=kept,
    version=kept,
    string=text(lambda place, value: place.words.attribute(value)),
)
_range = fields(min=kept, max=kept, step=kept)
_policy = fields(default=kept, validValues=list_of(kept), validRange=_range)
_counters = by_key(fields(value=kept))
_place = {"nodeName": name, "nodeSelector": node_selector, "allNodes": kept}
_conditions = {
    "bindingConditions": list_of(kept),
    "bindingFailureConditions": list_of(kept),
}
_device = fields(
    name=name,
    attributes=by_key(_attribute),
    capacity=by_key(fields(value=kept, requestPolicy=_policy)),
    consumesCounters=list_of(fields(counterSet=name, counters=_counters)),
    taints=list_of(taint),
    allowMultipleAllocations=kept,
    bindsToNode=kept,
    **_place,
    **_conditions,
)
_slice = fields(
    driver=kept,
    pool=fields(name=name, generation=kept, resourceSliceCount=kept),
    devices=list_of(_device),
    sharedCounters=list_of(fields(name=name, counters=_counters)),
    perDeviceNodeSelection=kept,
    **_place,
)
_opaque = fields(driver=kept)
_ask = {
    "deviceClassName": kept,
    "selectors": _selectors,
    "allocationMode": kept,
    "count": kept,
    "adminAccess": kept,
    "tolerations": list_of(taint),
    "capacity": fields(requests=amounts),
}
_devices = fields(
    requests=list_of(
        fields(
            name=name,
            exactly=fields(**_ask),
            firstAvailable=list_of(fields(name=name, **_ask)),
        )
    ),
    constraints=list_of(
        fields(requests=list_of(_request), matchAttribute=kept, distinctAttribute=kept)
    ),
    config=list_of(fields(requests=list_of(_request), opaque=_opaque)),
)
_result = fields(
    request=_request,
    driver=kept,
    pool=name,
    device=name,
    adminAccess=kept,
    tolerations=list_of(taint),
    shareID=uid,
    consumedCapacity=amounts,
    **_conditions,
)
_config = fields(source=kept, requests=list_of(_request), opaque=_opaque)
_allocation = fields(
    devices=fields(results=list_of(_result), config=list_of(_config)),
    nodeSelector=node_selector,
    allocationTimestamp=kept,
)
_reported = fields(
    driver=kept,
    pool=name,
    device=name,
    shareID=uid,
    conditions=list_of(fields(type=kept, status=kept)),
)
_status = fields(
    allocation=_allocation,
    reservedFor=list_of(fields(apiGroup=kept, resource=kept, name=name, uid=uid)),
    devices=list_of(_reported),
)
_tainted = fields(driver=kept, pool=name, device=name)

DEVICE_KINDS: Final[Mapping[str, Mapping[str, Rule]]] = {
    "DeviceClass": {
        "spec": fields(
            selectors=_selectors,
            config=list_of(fields(opaque=_opaque)),
            extendedResourceName=kept,
        )
    },
    "ResourceSlice": {"spec": _slice},
    "ResourceClaim": {"spec": fields(devices=_devices), "status": _status},
    "ResourceClaimTemplate": {},
    "DeviceTaintRule": {"spec": fields(deviceSelector=_tainted, taint=taint)},
}


def literals(item: Mapping[str, Any]) -> Iterator[str]:
    """The texts in the selectors of a class or a claim, however deep they stand."""
    waiting: list[Any] = [item.get("spec")]
    while waiting:
        part = waiting.pop()
        if isinstance(part, list):
            waiting += part
        elif isinstance(part, dict):
            expression = part.get("expression")
            if isinstance(expression, str):
                yield from (found[1] or found[2] for found in _LITERAL.finditer(expression))
            waiting += part.values()
