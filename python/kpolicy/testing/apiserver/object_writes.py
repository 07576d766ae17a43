"""Create, update, patch, delete and bind: checks the request, changes the store, answers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from kpolicy.clock import Clock
from kpolicy.testing import limits
from kpolicy.testing.apiserver.api_calls import Answer, Request, Target
from kpolicy.testing.apiserver.list_parameters import is_dry_run, list_parameters
from kpolicy.testing.apiserver.object_reads import refused
from kpolicy.testing.apiserver.request_bodies import body_of, media_type, patch_body
from kpolicy.testing.objects import failures, patches
from kpolicy.testing.objects.admission import (
    admit_create,
    admit_status_update,
    admit_update,
    check_body,
    check_shape,
)
from kpolicy.testing.objects.deletion import AT_ONCE, DeleteOptions, carry_out, delete_options
from kpolicy.testing.objects.encoding import Json, encode, timestamp
from kpolicy.testing.objects.failures import Failure
from kpolicy.testing.objects.object_views import (
    check_event_update,
    check_new_event,
    json_of,
    list_json,
    object_as,
    stored_form,
)
from kpolicy.testing.objects.pod_admission import with_condition
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

# bindings are never stored; this resource only names them in errors
BINDINGS = Resource("", "v1", "bindings", "binding", "Binding", namespaced=True)


def check_binding(binding: Object, name: str) -> Failure | None:
    """Check a binding before its pod is looked at."""
    metadata, target = binding.get("metadata") or {}, binding.get("target") or {}
    if not isinstance(metadata, Mapping) or not isinstance(target, Mapping):
        return failures.bad_request("metadata and target of a Binding must be objects")
    if (problem := check_shape(BINDINGS, {"metadata": metadata})) is not None:
        return problem
    if metadata.get("name") != name:
        return failures.bad_request("name in URL does not match name in Binding object")
    # The real server answers these two with 500 and no reason.
    if target.get("kind") not in (None, "", "Node"):
        text = f'target.kind: Unsupported value: "{target["kind"]}"'
        return Failure(500, "", f'{text}: supported values: "Node", "<empty>"')
    if not target.get("name"):
        return Failure(500, "", "target.name: Required value")
    return None


def bound(pod: Object, binding: Object, now: str) -> Object | Failure:
    name, spec = pod["metadata"]["name"], pod["spec"]
    refusal = ""
    if pod["metadata"].get("deletionTimestamp"):
        refusal = f"pod {name} is being deleted, cannot be assigned to a host"
    elif spec.get("nodeName"):
        refusal = f'pod {name} is already assigned to node "{spec["nodeName"]}"'
    elif spec.get("schedulingGates"):
        refusal = f"pod {name} has non-empty .spec.schedulingGates"
    if refusal:
        return failures.conflict(PODS, name, refusal, subresource="binding")
    metadata = dict(pod["metadata"])
    given = binding.get("metadata") or {}
    for field in ("annotations", "labels"):
        if given.get(field):
            metadata[field] = {**(metadata.get(field) or {}), **given[field]}
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
        if isinstance(body := body_of(target.resource, request), Failure):
            return refused(body)
        if isinstance(dry_run := is_dry_run(request.query, "CreateOptions"), Failure):
            return refused(dry_run)
        if target.subresource == "binding":
            return self._bind(target, body, dry_run=dry_run)
        return _written(target, 201, self.create_object(target, body, dry_run=dry_run))

    def create_object(
        self, target: Target, body: Json, *, dry_run: bool = False
    ) -> Record | Failure:
        resource, namespace = target.resource, target.namespace
        if (problem := check_body(resource, body, namespace, "")) is not None:
            return problem
        assert isinstance(body, Mapping)
        stored, form = _stored(resource), stored_form(resource, body)
        if stored is EVENTS:
            problem = check_new_event(form, namespace, new_api=resource is NEW_EVENTS)
            if problem is not None:
                return problem
        if namespace and self._store.read(NAMESPACES, "", namespace) is None:
            return failures.not_found(NAMESPACES, namespace)
        classes = self._store.records(PRIORITY_CLASSES) if resource is PODS else ()
        admitted = admit_create(
            resource,
            form,
            namespace,
            (each.object for each in classes),
            self._now(),
        )
        if isinstance(admitted, Failure):
            return admitted
        if stored is EVENTS and self._store.count(EVENTS) >= limits.EVENTS_MAX:
            self._store.remove_oldest(EVENTS)
        return self._store.create(stored, namespace, admitted, dry_run=dry_run)

    def update(self, target: Target, request: Request) -> Answer:
        if isinstance(body := body_of(target.resource, request), Failure):
            return refused(body)
        if isinstance(dry_run := is_dry_run(request.query, "UpdateOptions"), Failure):
            return refused(dry_run)
        resource = target.resource
        if (problem := check_body(resource, body, target.namespace, target.name)) is not None:
            return refused(problem)
        assert isinstance(body, Mapping)
        metadata = body.get("metadata") or {}
        missing = self._store.read(_stored(resource), target.namespace, target.name) is None
        if missing and resource.kind in CREATED_BY_UPDATE and not metadata.get("resourceVersion"):
            return _written(target, 201, self.create_object(target, body, dry_run=dry_run))
        if not metadata.get("resourceVersion") and resource.kind in CONDITIONAL_UPDATE_ONLY:
            return refused(failures.revision_required(resource, target.name))
        new = stored_form(resource, body)
        return _written(
            target,
            200,
            self._change(target, lambda _: new, uid=metadata.get("uid") or "", dry_run=dry_run),
        )

    def patch(self, target: Target, request: Request) -> Answer:
        resource, kind = target.resource, media_type(request)
        if isinstance(patch := patch_body(request), Failure):
            return refused(patch)
        if isinstance(dry_run := is_dry_run(request.query, "PatchOptions"), Failure):
            return refused(dry_run)
        if kind == patches.APPLY_PATCH:
            missing = self._store.read(_stored(resource), target.namespace, target.name) is None
            problem = _not_applicable(target, patch, missing=missing)
            if problem is None and not request.query.get("fieldManager"):
                cause = failures.required("fieldManager", "is required for apply patch")
                problem = failures.invalid_options("PatchOptions", cause)
            if problem is not None:
                return refused(problem)
            if missing:
                return _written(target, 201, self._apply_new(target, patch, dry_run=dry_run))

        def becomes(held: Record) -> Object | Failure:
            new = patches.patched(object_as(resource, held), kind, patch)
            if isinstance(new, Failure):
                return new
            if (problem := check_body(resource, new, target.namespace, target.name)) is None:
                problem = _other_uid(target, held, new)
            return stored_form(resource, new) if problem is None else problem

        return _written(target, 200, self._change(target, becomes, dry_run=dry_run))

    def delete(self, target: Target, request: Request) -> Answer:
        body = body_of(target.resource, request) if request.body else None
        if isinstance(body, Failure):
            return refused(body)
        if isinstance(options := delete_options(body, request.query), Failure):
            return refused(options)
        resource = target.resource
        if isinstance(gone := self.delete_object(target, options), Failure):
            return refused(gone)
        if resource is PODS or gone.object["metadata"].get("deletionTimestamp"):
            return Answer(200, json_of(resource, gone))
        details = {"name": target.name, "kind": resource.plural, "uid": gone.uid}
        if resource.group:
            details["group"] = resource.group
        return Answer(200, _success({"details": details}))

    def delete_object(self, target: Target, options: DeleteOptions) -> Record | Failure:
        resource, namespace, name = _stored(target.resource), target.namespace, target.name
        if (held := self._store.read(resource, namespace, name)) is None:
            return failures.not_found(resource, name)
        if (problem := _another(held, options)) is not None:
            return problem
        if options.dry_run:
            return held
        if resource is NAMESPACES:
            if name in PERMANENT_NAMESPACES:
                return failures.forbidden(resource, name, "this namespace may not be deleted")
            self._empty(name)
        return carry_out(self._store, held, options, self._clock.now_ns())

    def delete_collection(self, target: Target, request: Request) -> Answer:
        body = body_of(target.resource, request) if request.body else None
        if isinstance(body, Failure):
            return refused(body)
        if isinstance(options := delete_options(body, request.query), Failure):
            return refused(options)
        if isinstance(asked := list_parameters(target.resource, request.query), Failure):
            return refused(asked)
        records = [
            each
            for each in self._store.records(_stored(target.resource), target.namespace or None)
            if asked.selector.matches(each.object)
        ]
        for record in records:
            self.delete_object(Target(target.resource, record.namespace, record.name), options)
        metadata = {"resourceVersion": str(self._store.revision)}
        return Answer(200, list_json(target.resource, records, metadata))

    def _bind(self, target: Target, body: Json, *, dry_run: bool) -> Answer:
        if not isinstance(body, Mapping):
            return refused(failures.bad_request("a Binding must be an object"))
        if (problem := check_binding(body, target.name)) is not None:
            return refused(problem)
        binding, metadata = body, body.get("metadata") or {}
        written = self._store.change(
            PODS,
            target.namespace,
            target.name,
            lambda held: bound(held.object, binding, self._now()),
            uid=metadata.get("uid") or "",
            revision=metadata.get("resourceVersion") or "",
            dry_run=dry_run,
        )
        if isinstance(written, Failure):
            return refused(written)
        return Answer(201, _BOUND)

    def _change(
        self, target: Target, becomes: Decide, *, uid: str = "", dry_run: bool = False
    ) -> Record | Failure:
        """Replace the object or its status, unless it has changed since the revision in the
        body."""
        resource = _stored(target.resource)

        def decide(held: Record) -> Object | Failure:
            if isinstance(new := becomes(held), Failure):
                return new
            revision = (new.get("metadata") or {}).get("resourceVersion")
            if revision and revision != str(held.revision):
                return failures.modified_meanwhile(target.resource, target.name)
            if resource is EVENTS:
                problem = check_event_update(
                    held.object, new, new_api=target.resource is NEW_EVENTS
                )
                if problem is not None:
                    return problem
            if target.subresource == "status":
                return admit_status_update(held.object, new)
            return admit_update(resource, held.object, new)

        return self._store.change(
            resource, target.namespace, target.name, decide, uid=uid, dry_run=dry_run
        )

    def _apply_new(self, target: Target, patch: Json, *, dry_run: bool) -> Record | Failure:
        if target.subresource:
            return failures.not_found(target.resource, target.name)
        return self.create_object(target, patch, dry_run=dry_run)

    def _empty(self, namespace: str) -> None:
        """Delete everything in the namespace at once, as the namespace controller does."""
        for resource in RESOURCES:
            if not resource.namespaced or resource.stored_as:
                continue
            for record in list(self._store.records(resource, namespace)):
                self.delete_object(Target(resource, namespace, record.name), AT_ONCE)

    def _now(self) -> str:
        return timestamp(self._clock.now_ns())


def _stored(resource: Resource) -> Resource:
    return EVENTS if resource is NEW_EVENTS else resource


def _not_applicable(target: Target, patch: Json, *, missing: bool) -> Failure | None:
    if isinstance(patch, dict) and not (patch.get("apiVersion") and patch.get("kind")):
        type_ = f"{patch.get('apiVersion') or '/'}, Kind={patch.get('kind') or ''}"
        return failures.bad_request(f"invalid object type: {type_}")
    # The name may be left out if the path contains it, but not for an object to be created.
    metadata = (patch.get("metadata") or {}) if isinstance(patch, dict) else {}
    named = missing or bool(isinstance(metadata, dict) and metadata.get("name"))
    return check_body(target.resource, patch, target.namespace, target.name if named else "")


def _another(held: Record, options: DeleteOptions) -> Failure | None:
    for what, asked, has in (
        ("UID", options.uid, held.uid),
        ("ResourceVersion", options.revision, str(held.revision)),
    ):
        if asked and asked != has:
            return failures.other_object(held.resource, held.name, what, asked=asked, held=has)
    return None


def _other_uid(target: Target, held: Record, new: Object) -> Failure | None:
    uid = new["metadata"].get("uid")
    if not uid or uid == held.uid:
        return None
    cause = failures.not_valid("metadata.uid", uid, "field is immutable")
    return failures.invalid(target.resource, target.name, [cause])


def _written(target: Target, code: int, outcome: Record | Failure) -> Answer:
    if isinstance(outcome, Failure):
        return refused(outcome)
    return Answer(code, json_of(target.resource, outcome))


def _success(more: Mapping[str, Any]) -> bytes:
    return encode(
        {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", **more}
    )


_BOUND: Final = _success({"code": 201})
