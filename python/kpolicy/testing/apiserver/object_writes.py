"""Create, update, patch, delete and bind: checks the request, changes the store, answers.

A delete removes an object, or marks it and waits for finalizers and grace periods.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final

from pydantic_core import to_json

from kpolicy.api_times import NANOSECONDS, api_time
from kpolicy.clock import Clock
from kpolicy.testing import limits
from kpolicy.testing.apiserver.api_calls import Answer, Request, Target
from kpolicy.testing.apiserver.list_parameters import is_dry_run, list_parameters
from kpolicy.testing.apiserver.request_bodies import body_of, media_type, patch_body
from kpolicy.testing.objects import failures, patches
from kpolicy.testing.objects.admission import (
    admit_create,
    admit_status_update,
    admit_update,
    check_body,
    check_shape,
)
from kpolicy.testing.objects.failures import ApiError
from kpolicy.testing.objects.object_views import (
    check_event_update,
    check_new_event,
    json_of,
    list_json,
    object_as,
    stored_form,
)
from kpolicy.testing.objects.pod_admission import GRACE_PERIOD_S, with_condition
from kpolicy.testing.objects.resource_types import (
    EVENTS,
    NAMESPACES,
    NEW_EVENTS,
    PODS,
    PRIORITY_CLASSES,
    RESOURCES,
    Resource,
)
from kpolicy.testing.objects.store import Decide, Record, Store

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


def delete_options(target: Target, request: Request) -> DeleteOptions:
    query = request.query
    body = body_of(target.resource, request) if request.body else None
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
        "deletionTimestamp": api_time(now_ns + grace_s * NANOSECONDS),
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


# bindings are never stored; this resource only names them in errors
BINDINGS = Resource("", "v1", "bindings", "binding", "Binding", namespaced=True)


def check_binding(binding: object, name: str) -> Object:
    """Check a binding before its pod is looked at."""
    if not isinstance(binding, Mapping):
        raise failures.bad_request("a Binding must be an object")
    metadata, target = binding.get("metadata") or {}, binding.get("target") or {}
    if not isinstance(metadata, Mapping) or not isinstance(target, Mapping):
        raise failures.bad_request("metadata and target of a Binding must be objects")
    check_shape(BINDINGS, {"metadata": metadata})
    if metadata.get("name") != name:
        raise failures.bad_request("name in URL does not match name in Binding object")
    # The real server answers these two with 500 and no reason.
    if target.get("kind") not in (None, "", "Node"):
        text = f'target.kind: Unsupported value: "{target["kind"]}"'
        raise ApiError(500, "", f'{text}: supported values: "Node", "<empty>"')
    if not target.get("name"):
        raise ApiError(500, "", "target.name: Required value")
    return binding


def bound(pod: Object, binding: Object, now: str) -> Object:
    name, spec = pod["metadata"]["name"], pod["spec"]
    refusal = ""
    if pod["metadata"].get("deletionTimestamp"):
        refusal = f"pod {name} is being deleted, cannot be assigned to a host"
    elif spec.get("nodeName"):
        refusal = f'pod {name} is already assigned to node "{spec["nodeName"]}"'
    elif spec.get("schedulingGates"):
        refusal = f"pod {name} has non-empty .spec.schedulingGates"
    if refusal:
        raise failures.conflict(PODS, name, refusal, subresource="binding")
    metadata, sent = dict(pod["metadata"]), binding.get("metadata") or {}
    for field in ("annotations", "labels"):
        if sent.get(field):
            metadata[field] = {**(metadata.get(field) or {}), **sent[field]}
    return {
        **pod,
        "metadata": metadata,
        "spec": {**spec, "nodeName": binding["target"]["name"]},
        "status": with_condition(pod.get("status", {}), "PodScheduled", {"status": "True"}, now),
    }


# kinds whose update creates a missing object, and kinds whose update must name a revision
CREATED_BY_UPDATE: Final = frozenset(("Lease", "Event"))
CONDITIONAL_UPDATE_ONLY: Final = frozenset(("Lease",))
PERMANENT_NAMESPACES: Final = frozenset(("default", "kube-system", "kube-public"))


class Writes:
    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    def create(self, target: Target, request: Request) -> Answer:
        body = body_of(target.resource, request)
        dry_run = is_dry_run(request.query, "CreateOptions")
        if target.subresource == "binding":
            return self._bind(target, body, dry_run=dry_run)
        return _written(target, 201, self.create_object(target, body, dry_run=dry_run))

    def create_object(self, target: Target, body: object, *, dry_run: bool = False) -> Record:
        resource, namespace = target.resource, target.namespace
        checked = check_body(resource, body, namespace, "")
        stored, form = _stored(resource), stored_form(resource, checked)
        if stored is EVENTS:
            check_new_event(form, namespace, new_api=resource is NEW_EVENTS)
        if namespace:
            self._store.held(NAMESPACES, "", namespace)
        classes = (record.object for record in self._store.records(PRIORITY_CLASSES))
        admitted = admit_create(resource, form, namespace, classes, self._now())
        if stored is EVENTS and self._store.count(EVENTS) >= limits.EVENTS_MAX:
            self._store.remove_oldest(EVENTS)
        return self._store.create(stored, namespace, admitted, dry_run=dry_run)

    def update(self, target: Target, request: Request) -> Answer:
        body = body_of(target.resource, request)
        dry_run = is_dry_run(request.query, "UpdateOptions")
        resource = target.resource
        checked = check_body(resource, body, target.namespace, target.name)
        metadata = checked.get("metadata") or {}
        if not metadata.get("resourceVersion"):
            if resource.kind in CREATED_BY_UPDATE and self._is_missing(target):
                created = self.create_object(target, checked, dry_run=dry_run)
                return _written(target, 201, created)
            if resource.kind in CONDITIONAL_UPDATE_ONLY:
                raise failures.revision_required(resource, target.name)
        new = stored_form(resource, checked)
        uid = metadata.get("uid") or ""
        changed = self._change(target, lambda _: new, uid=uid, dry_run=dry_run)
        return _written(target, 200, changed)

    def patch(self, target: Target, request: Request) -> Answer:
        resource, kind = target.resource, media_type(request)
        patch = patch_body(request)
        dry_run = is_dry_run(request.query, "PatchOptions")
        if kind == patches.APPLY_PATCH:
            is_missing = self._is_missing(target)
            _check_applicable(target, patch, is_missing=is_missing)
            if not request.query.get("fieldManager"):
                cause = failures.required("fieldManager", "is required for apply patch")
                raise failures.invalid_options("PatchOptions", cause)
            if is_missing and target.subresource:
                raise failures.not_found(resource, target.name)
            if is_missing:
                created = self.create_object(target, patch, dry_run=dry_run)
                return _written(target, 201, created)

        def becomes(held: Record) -> Object:
            new = patches.patched(object_as(resource, held), kind, patch)
            check_body(resource, new, target.namespace, target.name)
            if new["metadata"].get("uid") not in (None, "", held.uid):
                uid = new["metadata"]["uid"]
                cause = failures.not_valid("metadata.uid", uid, "field is immutable")
                raise failures.invalid(resource, target.name, [cause])
            return stored_form(resource, new)

        return _written(target, 200, self._change(target, becomes, dry_run=dry_run))

    def delete(self, target: Target, request: Request) -> Answer:
        options = delete_options(target, request)
        resource = target.resource
        gone = self.delete_object(target, options)
        if resource is PODS or gone.object["metadata"].get("deletionTimestamp"):
            return Answer(200, json_of(resource, gone))
        details = {"name": target.name, "kind": resource.plural, "uid": gone.uid}
        if resource.group:
            details["group"] = resource.group
        return Answer(200, _success({"details": details}))

    def delete_object(self, target: Target, options: DeleteOptions) -> Record:
        resource, namespace, name = _stored(target.resource), target.namespace, target.name
        held = self._store.held(resource, namespace, name)
        for what, asked, has in (
            ("UID", options.uid, held.uid),
            ("ResourceVersion", options.revision, str(held.revision)),
        ):
            if asked and asked != has:
                raise failures.other_object(resource, name, what, asked=asked, held=has)
        if options.dry_run:
            return held
        if resource is NAMESPACES:
            if name in PERMANENT_NAMESPACES:
                raise failures.forbidden(resource, name, "this namespace may not be deleted")
            self._empty(name)
        return carry_out(self._store, held, options, self._clock.now_ns())

    def delete_collection(self, target: Target, request: Request) -> Answer:
        resource, options = target.resource, delete_options(target, request)
        asked = list_parameters(resource, request.query)
        records = [
            record
            for record in self._store.records(_stored(resource), target.namespace or None)
            if asked.selector.matches(record.object)
        ]
        for record in records:
            with suppress(ApiError):  # an object that may not be deleted stays
                self.delete_object(Target(resource, record.namespace, record.name), options)
        return Answer(
            200, list_json(resource, records, {"resourceVersion": str(self._store.revision)})
        )

    def _bind(self, target: Target, body: object, *, dry_run: bool) -> Answer:
        binding = check_binding(body, target.name)
        metadata = binding.get("metadata") or {}
        self._store.change(
            PODS,
            target.namespace,
            target.name,
            lambda held: bound(held.object, binding, self._now()),
            uid=metadata.get("uid") or "",
            revision=metadata.get("resourceVersion") or "",
            dry_run=dry_run,
        )
        return Answer(201, _BOUND)

    def _change(
        self, target: Target, becomes: Decide, *, uid: str = "", dry_run: bool = False
    ) -> Record:
        """Replace the object or its status, unless it has changed since the revision in the
        body."""
        resource = _stored(target.resource)

        def decide(held: Record) -> Object:
            new = becomes(held)
            revision = (new.get("metadata") or {}).get("resourceVersion")
            if revision and revision != str(held.revision):
                raise failures.modified_meanwhile(target.resource, target.name)
            if resource is EVENTS:
                check_event_update(held.object, new, new_api=target.resource is NEW_EVENTS)
            if target.subresource == "status":
                return admit_status_update(held.object, new)
            return admit_update(resource, held.object, new)

        return self._store.change(
            resource, target.namespace, target.name, decide, uid=uid, dry_run=dry_run
        )

    def _is_missing(self, target: Target) -> bool:
        return self._store.read(_stored(target.resource), target.namespace, target.name) is None

    def _empty(self, namespace: str) -> None:
        """Delete everything in the namespace at once, as the namespace controller does."""
        for resource in RESOURCES:
            if not resource.namespaced or resource.stored_as:
                continue
            for record in list(self._store.records(resource, namespace)):
                self.delete_object(Target(resource, namespace, record.name), AT_ONCE)

    def _now(self) -> str:
        return api_time(self._clock.now_ns())


def _stored(resource: Resource) -> Resource:
    return EVENTS if resource is NEW_EVENTS else resource


def _check_applicable(target: Target, patch: Any, *, is_missing: bool) -> None:
    if isinstance(patch, dict) and not (patch.get("apiVersion") and patch.get("kind")):
        type_ = f"{patch.get('apiVersion') or '/'}, Kind={patch.get('kind') or ''}"
        raise failures.bad_request(f"invalid object type: {type_}")
    # The name may be left out if the path contains it, but not for an object to be created.
    metadata = (patch.get("metadata") or {}) if isinstance(patch, dict) else {}
    is_named = is_missing or bool(isinstance(metadata, dict) and metadata.get("name"))
    check_body(target.resource, patch, target.namespace, target.name if is_named else "")


def _written(target: Target, code: int, record: Record) -> Answer:
    return Answer(code, json_of(target.resource, record))


def _success(more: Mapping[str, Any]) -> bytes:
    return to_json(
        {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", **more}
    )


_BOUND: Final = _success({"code": 201})
