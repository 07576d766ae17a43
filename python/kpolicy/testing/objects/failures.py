"""Errors in the API server's own words. Whoever finds one raises it; the server answers with it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kpolicy.testing.objects.resource_types import Resource


class ApiError(Exception):
    """Code, reason, message and details of a `metav1.Status`."""

    def __init__(
        self, code: int, reason: str, message: str, details: Mapping[str, Any] | None = None
    ) -> None:
        super().__init__(message)
        self.code = code
        self.reason = reason
        self.message = message
        self.details = details or {}

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

    def __str__(self) -> str:
        return f"{self.field}: {self.message}"

    def detail(self) -> dict[str, str]:
        return {"reason": self.reason, "message": self.message, "field": self.field}


def required(path: str, detail: str = "") -> Cause:
    text = f"Required value: {detail}" if detail else "Required value"
    return Cause(path, "FieldValueRequired", text)


def not_valid(path: str, value: object, detail: str) -> Cause:
    shown = f'"{value}"' if isinstance(value, str) else str(value)
    return Cause(path, "FieldValueInvalid", f"Invalid value: {shown}: {detail}")


def not_allowed(path: str, detail: str) -> Cause:
    return Cause(path, "FieldValueForbidden", f"Forbidden: {detail}")


def invalid(resource: Resource, name: str, causes: Sequence[Cause]) -> ApiError:
    kind = f"{resource.kind}.{resource.group}" if resource.group else resource.kind
    text = ", ".join(map(str, causes))
    details = _details(resource, name, kind=resource.kind)
    details["causes"] = [cause.detail() for cause in causes]
    if len(causes) > 1:
        text = f"[{text}]"
    return ApiError(422, "Invalid", f'{kind} "{name}" is invalid: {text}', details)


def revision_required(resource: Resource, name: str) -> ApiError:
    """For kinds that cannot be updated unconditionally. The plural is the API server's own."""
    cause = not_valid("metadata.resourceVersion", 0, "must be specified for an update")
    details = {**_details(resource, name), "causes": [cause.detail()]}
    return ApiError(422, "Invalid", f'{resource.qualified} "{name}" is invalid: {cause}', details)


def not_found(resource: Resource, name: str) -> ApiError:
    return _of_object(404, "NotFound", resource, name, "not found")


def already_exists(resource: Resource, name: str) -> ApiError:
    return _of_object(409, "AlreadyExists", resource, name, "already exists")


def forbidden(resource: Resource, name: str, why: str) -> ApiError:
    return _of_object(403, "Forbidden", resource, name, f"is forbidden: {why}")


def _of_object(code: int, reason: str, resource: Resource, name: str, what: str) -> ApiError:
    return ApiError(code, reason, f'{resource.qualified} "{name}" {what}', _details(resource, name))


def conflict(resource: Resource, name: str, why: str, subresource: str = "") -> ApiError:
    qualified = resource.qualified + (f"/{subresource}" if subresource else "")
    message = f'Operation cannot be fulfilled on {qualified} "{name}": {why}'
    details = _details(resource, name)
    if subresource:
        details["kind"] = f"{resource.plural}/{subresource}"
    return ApiError(409, "Conflict", message, details)


def modified_meanwhile(resource: Resource, name: str) -> ApiError:
    why = "the object has been modified; please apply your changes to the latest version"
    return conflict(resource, name, f"{why} and try again")


def precondition_failed(
    resource: Resource, key: tuple[str, str], what: str, *, asked: str, held: str
) -> ApiError:
    namespace, name = key
    place = "/".join(part for part in ("/registry", resource.plural, namespace, name) if part)
    why = (
        f"StorageError: invalid object, Code: 4, Key: {place}, ResourceVersion: 0, "
        f"AdditionalErrorMsg: Precondition failed: {what} in precondition: {asked}, "
        f"{what} in object meta: {held}"
    )
    return conflict(resource, name, why)


def bad_request(message: str) -> ApiError:
    return ApiError(400, "BadRequest", message)


def unauthorized() -> ApiError:
    return ApiError(401, "Unauthorized", "Unauthorized")


def no_such_resource() -> ApiError:
    return ApiError(404, "NotFound", "the server could not find the requested resource")


def method_not_allowed() -> ApiError:
    message = "the server does not allow this method on the requested resource"
    return ApiError(405, "MethodNotAllowed", message)


def unsupported_media_type() -> ApiError:
    message = (
        "the body of the request was in an unknown format - accepted media types include: "
        "application/json, application/yaml, application/vnd.kubernetes.protobuf"
    )
    return ApiError(415, "UnsupportedMediaType", message)


def unsupported_patch_type() -> ApiError:
    return ApiError(415, "UnsupportedMediaType", "415: Unsupported Media Type")


def misfit_patch() -> ApiError:
    """A JSON patch does not fit the object. The API server gives no more detail either."""
    message = "the server rejected our request due to an error in our request"
    return ApiError(422, "Invalid", message)


def invalid_options(kind: str, cause: Cause) -> ApiError:
    details = {"group": "meta.k8s.io", "kind": kind, "causes": [cause.detail()]}
    return ApiError(422, "Invalid", f'{kind}.meta.k8s.io "" is invalid: {cause}', details)


def other_object(resource: Resource, name: str, what: str, *, asked: str, held: str) -> ApiError:
    """The precondition of a delete does not hold."""
    message = (
        f'Operation cannot be fulfilled on {resource.kind} "{name}": the {what} in the '
        f"precondition ({asked}) does not match the {what} in record ({held}). The object might "
        "have been deleted and then recreated"
    )
    return ApiError(409, "Conflict", message, {"name": name, "kind": resource.kind})


def expired(message: str) -> ApiError:
    return ApiError(410, "Expired", message)


def too_large_revision(asked: int, current: int) -> ApiError:
    details = {
        "causes": [
            {"reason": "ResourceVersionTooLarge", "message": "Too large resource version"},
        ],
        "retryAfterSeconds": 1,
    }
    message = f"Timeout: Too large resource version: {asked}, current: {current}"
    return ApiError(504, "Timeout", message, details)


def injected(code: int, own_message: str = "") -> ApiError:
    """Return what a server in trouble answers, by code."""
    reasons = {
        429: ("TooManyRequests", "Too many requests, please try again later."),
        500: ("InternalError", "Internal error occurred: injected fault"),
        503: ("ServiceUnavailable", "the server is currently unable to handle the request"),
        504: ("Timeout", "Timeout: request did not complete within the allotted timeout"),
    }
    reason, message = reasons.get(code, ("InternalError", f"injected fault {code}"))
    return ApiError(code, reason, own_message or message)


def _details(resource: Resource, name: str, kind: str = "") -> dict[str, Any]:
    details: dict[str, Any] = {"name": name} if name else {}
    if resource.group:
        details["group"] = resource.group
    details["kind"] = kind or resource.plural
    return details
