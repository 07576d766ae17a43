"""What a delete does to an object: removes it, or marks it and waits for finalizers and grace
periods."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from kpolicy.clock import NANOSECONDS
from kpolicy.testing.objects import failures
from kpolicy.testing.objects.pod_admission import GRACE_PERIOD_S
from kpolicy.testing.objects.resource_types import PODS
from kpolicy.testing.objects.store import Record, Store, timestamp

Object = Mapping[str, Any]

# A year. Later dates have no use, and some cannot be written.
_GRACE_PERIOD_S_MAX: Final = 365 * 24 * 3600


@dataclass(frozen=True, slots=True)
class DeleteOptions:
    grace_period_s: int | None = None
    uid: str = ""
    revision: str = ""
    dry_run: bool = False


AT_ONCE = DeleteOptions(grace_period_s=0)


def delete_options(body: object, query: Mapping[str, str]) -> DeleteOptions:
    if body is not None and not isinstance(body, dict):
        raise failures.bad_request("DeleteOptions must be an object")
    options: Mapping[str, Any] = body or {}
    grace: Any = options.get("gracePeriodSeconds")
    text = query.get("gracePeriodSeconds")
    if grace is None and text is not None:
        grace = int(text) if text.isascii() and text.isdigit() and len(text) < 10 else -1
    if grace is not None and not isinstance(grace, int):
        raise failures.bad_request("gracePeriodSeconds must be a whole number")
    if grace is not None:  # the API server takes negative values for 1
        grace = 1 if grace < 0 else min(grace, _GRACE_PERIOD_S_MAX)
    conditions = options.get("preconditions") or {}
    if not isinstance(conditions, dict):
        raise failures.bad_request("preconditions must be an object")
    dry_run = "All" in (*(options.get("dryRun") or ()), query.get("dryRun"))
    return DeleteOptions(
        grace, conditions.get("uid") or "", conditions.get("resourceVersion") or "", dry_run
    )


def carry_out(store: Store, held: Record, options: DeleteOptions, now_ns: int) -> Record:
    """Mark the object, and remove it if nothing holds it; return what is left, or its last
    state."""
    resource, namespace, name = held.resource, held.namespace, held.name
    if (marked := _marked(held.object, options, now_ns, graceful=resource is PODS)) is not None:
        left = store.change(resource, namespace, name, lambda _: marked)
        metadata = marked["metadata"]
        if metadata.get("finalizers") or metadata.get("deletionGracePeriodSeconds"):
            return left
    return store.remove(resource, namespace, name)


def _marked(
    object_: Object, options: DeleteOptions, now_ns: int, *, graceful: bool
) -> Object | None:
    """Return the marked object; None if it is removed without a mark.

    Pods are always marked, so that watches see both steps.
    """
    metadata = object_["metadata"]
    if not graceful and not metadata.get("finalizers"):
        return None
    grace_s = _grace_period_s(object_, options) if graceful else 0
    held_s = metadata.get("deletionGracePeriodSeconds")
    if metadata.get("deletionTimestamp") and (held_s is None or grace_s >= held_s):
        return object_
    marked = {
        **metadata,
        "deletionTimestamp": timestamp(now_ns + grace_s * NANOSECONDS),
        "deletionGracePeriodSeconds": grace_s,
    }
    if "generation" in metadata and not metadata.get("deletionTimestamp"):
        marked["generation"] = metadata["generation"] + 1
    return {**object_, "metadata": marked}


def _grace_period_s(pod: Object, options: DeleteOptions) -> int:
    """Return the grace period; 0 for a pod that runs nowhere."""
    status = pod.get("status") or {}
    if not pod["spec"].get("nodeName") or status.get("phase") in ("Succeeded", "Failed"):
        return 0
    if options.grace_period_s is not None:
        return options.grace_period_s
    grace_s = pod["spec"].get("terminationGracePeriodSeconds")
    if not isinstance(grace_s, int) or grace_s < 0:
        return GRACE_PERIOD_S
    return min(grace_s, _GRACE_PERIOD_S_MAX)
