"""Errors in the API server's own words: code, reason, message and details of `metav1.Status`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from kpolicy.testing.objects.resource_types import Resource


@dataclass(frozen=True, slots=True)
class Failure:
    code: int
    reason: str
    message: str
    details: Mapping[str, Any] = field(default_factory=dict)

    def status(self) -> dict[str, Any]:
        return {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": self.message,
            **({"reason": self.reason} if self.reason else {}),
            **({"details": dict(self.details)} if self.details else {}),
            "code": self.code,
        }


@dataclass(frozen=True, slots=True)
class Cause:
    """A field with a wrong value."""

    field: str
    reason: str
    message: str


def required(path: str, detail: str = "") -> Cause:
    text = f"Required value: {detail}" if detail else "Required value"
    return Cause(path, "FieldValueRequired", text)


def not_valid(path: str, value: object, detail: str) -> Cause:
    shown = f'"{value}"' if isinstance(value, str) else str(value)
    return Cause(path, "FieldValueInvalid", f"Invalid value: {shown}: {detail}")


def not_allowed(path: str, detail: str) -> Cause:
    return Cause(path, "FieldValueForbidden", f"Forbidden: {detail}")


def invalid(resource: Resource, name: str, causes: Sequence[Cause]) -> Failure:
    kind = f"{resource.kind}.{resource.group}" if resource.group else resource.kind
    texts = [f"{cause.field}: {cause.message}" for cause in causes]
    text = texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"
    details = _details(resource, name, kind=resource.kind)
    details["causes"] = [
        {"reason": cause.reason, "message": cause.message, "field": cause.field} for cause in causes
    ]
    return Failure(422, "Invalid", f'{kind} "{name}" is invalid: {text}', details)


def revision_required(resource: Resource, name: str) -> Failure:
    """For kinds that cannot be updated unconditionally. The plural is the API server's own."""
    cause = not_valid("metadata.resourceVersion", 0, "must be specified for an update")
    details = _details(resource, name)
    details["causes"] = [{"reason": cause.reason, "message": cause.message, "field": cause.field}]
    message = f'{resource.qualified} "{name}" is invalid: {cause.field}: {cause.message}'
    return Failure(422, "Invalid", message, details)


def not_found(resource: Resource, name: str) -> Failure:
    message = f'{resource.qualified} "{name}" not found'
    return Failure(404, "NotFound", message, _details(resource, name))


def already_exists(resource: Resource, name: str) -> Failure:
    message = f'{resource.qualified} "{name}" already exists'
    return Failure(409, "AlreadyExists", message, _details(resource, name))


def conflict(resource: Resource, name: str, why: str, subresource: str = "") -> Failure:
    qualified = resource.qualified + (f"/{subresource}" if subresource else "")
    message = f'Operation cannot be fulfilled on {qualified} "{name}": {why}'
    details = _details(resource, name)
    if subresource:
        details["kind"] = f"{resource.plural}/{subresource}"
    return Failure(409, "Conflict", message, details)


def modified_meanwhile(resource: Resource, name: str) -> Failure:
    why = "the object has been modified; please apply your changes to the latest version"
    return conflict(resource, name, f"{why} and try again")


def precondition_failed(
    resource: Resource, key: tuple[str, str], what: str, *, asked: str, held: str
) -> Failure:
    namespace, name = key
    place = "/".join(part for part in ("/registry", resource.plural, namespace, name) if part)
    why = (
        f"StorageError: invalid object, Code: 4, Key: {place}, ResourceVersion: 0, "
        f"AdditionalErrorMsg: Precondition failed: {what} in precondition: {asked}, "
        f"{what} in object meta: {held}"
    )
    return conflict(resource, name, why)


def forbidden(resource: Resource, name: str, why: str) -> Failure:
    message = f'{resource.qualified} "{name}" is forbidden: {why}'
    return Failure(403, "Forbidden", message, _details(resource, name))


def bad_request(message: str) -> Failure:
    return Failure(400, "BadRequest", message)


def unauthorized() -> Failure:
    return Failure(401, "Unauthorized", "Unauthorized")


def no_such_resource() -> Failure:
    return Failure(404, "NotFound", "the server could not find the requested resource")


def method_not_allowed() -> Failure:
    message = "the server does not allow this method on the requested resource"
    return Failure(405, "MethodNotAllowed", message)


def unsupported_media_type() -> Failure:
    message = (
        "the body of the request was in an unknown format - accepted media types include: "
        "application/json, application/yaml, application/vnd.kubernetes.protobuf"
    )
    return Failure(415, "UnsupportedMediaType", message)


def unsupported_patch_type() -> Failure:
    return Failure(415, "UnsupportedMediaType", "415: Unsupported Media Type")


def misfit_patch() -> Failure:
    """A JSON patch does not fit the object. The API server gives no more detail either."""
    message = "the server rejected our request due to an error in our request"
    return Failure(422, "Invalid", message)


def invalid_options(kind: str, cause: Cause) -> Failure:
    details = {
        "group": "meta.k8s.io",
        "kind": kind,
        "causes": [{"reason": cause.reason, "message": cause.message, "field": cause.field}],
    }
    message = f'{kind}.meta.k8s.io "" is invalid: {cause.field}: {cause.message}'
    return Failure(422, "Invalid", message, details)


def other_object(resource: Resource, name: str, what: str, *, asked: str, held: str) -> Failure:
    """The precondition of a delete does not hold."""
    message = (
        f'Operation cannot be fulfilled on {resource.kind} "{name}": the {what} in the '
        f"precondition ({asked}) does not match the {what} in record ({held}). The object might "
        "have been deleted and then recreated"
    )
    return Failure(409, "Conflict", message, {"name": name, "kind": resource.kind})


def expired(message: str) -> Failure:
    return Failure(410, "Expired", message)


def too_large_revision(asked: int, current: int) -> Failure:
    details = {
        "causes": [
            {"reason": "ResourceVersionTooLarge", "message": "Too large resource version"},
        ],
        "retryAfterSeconds": 1,
    }
    message = f"Timeout: Too large resource version: {asked}, current: {current}"
    return Failure(504, "Timeout", message, details)


def injected(code: int) -> Failure:
    """Return what a server in trouble answers, by code."""
    reasons = {
        429: ("TooManyRequests", "Too many requests, please try again later."),
        500: ("InternalError", "Internal error occurred: injected fault"),
        503: ("ServiceUnavailable", "the server is currently unable to handle the request"),
        504: ("Timeout", "Timeout: request did not complete within the allotted timeout"),
    }
    reason, message = reasons.get(code, ("InternalError", f"injected fault {code}"))
    return Failure(code, reason, message)


def _details(resource: Resource, name: str, kind: str = "") -> dict[str, Any]:
    details: dict[str, Any] = {"name": name} if name else {}
    if resource.group:
        details["group"] = resource.group
    details["kind"] = kind or resource.plural
    return details
