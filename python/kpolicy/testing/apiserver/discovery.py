"""What clients read first: discovery, version, OpenAPI and health documents. Pure.

OpenAPI only says that every resource can be patched with server-side field validation. kubectl
needs to know that before it leaves validation to the server.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any, Final

from pydantic_core import to_json

from kpolicy.release_table import RELEASES
from kpolicy.testing.apiserver.api_calls import TEXT, Answer
from kpolicy.testing.objects.resource_types import OBJECT_VERBS, RESOURCES, Resource

# The newest release that kpolicy follows, so that the scheduler of this server decides as that.
MAJOR, _, MINOR = RELEASES[-1].partition(".")
GIT_VERSION: Final = f"v{MAJOR}.{MINOR}.0+kpolicy.testing"

_OPENAPI_V2_PROTOBUF: Final = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf"
_HEALTH_PATHS: Final = ("/healthz", "/livez", "/readyz")


def document(path: str, accept: str) -> Answer | None:
    """Return the document at a path; None if there is none."""
    path = path.rstrip("/") or "/"
    if path in _HEALTH_PATHS or path.startswith(("/livez/", "/readyz/")):
        return Answer(200, b"ok", TEXT)
    if path == "/openapi/v2" and "protobuf" in accept:
        # an empty message is a document without definitions
        return Answer(200, b"", _OPENAPI_V2_PROTOBUF)
    body = documents().get(path)
    return None if body is None else Answer(200, body)


def is_served(path: str) -> bool:
    """Whether the path is in a group and version that are served."""
    parts = path.split("/")
    return len(parts) > 2 and "/".join(parts[: 3 if parts[1] == "api" else 4]) in documents()


@cache
def documents() -> Mapping[str, bytes]:
    versions = list(dict.fromkeys((resource.group, resource.version) for resource in RESOURCES))
    # every group is served in one version
    served = {
        group: {"groupVersion": f"{group}/{version}", "version": version}
        for group, version in versions
        if group
    }
    groups = [
        {"name": group, "versions": [entry], "preferredVersion": entry}
        for group, entry in served.items()
    ]
    found: dict[str, Any] = {
        "/version": {
            "major": MAJOR,
            "minor": MINOR,
            "gitVersion": GIT_VERSION,
            "gitCommit": "",
            "gitTreeState": "clean",
            "buildDate": "1970-01-01T00:00:00Z",
            "goVersion": "",
            "compiler": "",
            "platform": "linux/amd64",
        },
        "/api": {"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": []},
        "/apis": {"kind": "APIGroupList", "apiVersion": "v1", "groups": groups},
        "/openapi/v2": {
            "swagger": "2.0",
            "info": {"title": "Kubernetes", "version": GIT_VERSION},
            "paths": {},
            "definitions": {},
        },
    }
    for entry in groups:
        found[f"/apis/{entry['name']}"] = {"kind": "APIGroup", "apiVersion": "v1", **entry}
    openapi: dict[str, Any] = {}
    for group, version in versions:
        root = f"apis/{group}/{version}" if group else f"api/{version}"
        resources = [
            resource
            for resource in RESOURCES
            if (resource.group, resource.version) == (group, version)
        ]
        found[f"/{root}"] = _resource_list(resources)
        found[f"/openapi/v3/{root}"] = _openapi(resources)
        openapi[root] = {"serverRelativeURL": f"/openapi/v3/{root}"}
    found["/openapi/v3"] = {"paths": openapi}
    found["/"] = {"paths": sorted((*found, *_HEALTH_PATHS))}
    return {path: to_json(value) for path, value in found.items()}


def _resource_list(resources: Iterable[Resource]) -> dict[str, Any]:
    entries: list[dict[str, Any]] = []
    group_version = ""
    for resource in resources:
        group_version = resource.api_version
        entry: dict[str, Any] = {
            "name": resource.plural,
            "singularName": resource.singular,
            "namespaced": resource.namespaced,
            "kind": resource.kind,
            "verbs": list(OBJECT_VERBS),
        }
        if resource.short_names:
            entry["shortNames"] = list(resource.short_names)
        if resource.categories:
            entry["categories"] = list(resource.categories)
        entries.append(entry)
        entries += [_subresource(resource, subresource) for subresource in resource.subresources]
    return {
        "kind": "APIResourceList",
        "apiVersion": "v1",
        "groupVersion": group_version,
        "resources": entries,
    }


def _subresource(resource: Resource, subresource: str) -> dict[str, Any]:
    binding = subresource == "binding"
    return {
        "name": f"{resource.plural}/{subresource}",
        "singularName": "",
        "namespaced": resource.namespaced,
        "kind": "Binding" if binding else resource.kind,
        "verbs": ["create"] if binding else ["get", "patch", "update"],
    }


def _openapi(resources: Iterable[Resource]) -> dict[str, Any]:
    paths: dict[str, Any] = {}
    for resource in resources:
        root = f"/apis/{resource.api_version}" if resource.group else f"/api/{resource.version}"
        within = "/namespaces/{namespace}" if resource.namespaced else ""
        paths[f"{root}{within}/{resource.plural}/{{name}}"] = {
            "patch": {
                "x-kubernetes-action": "patch",
                "x-kubernetes-group-version-kind": {
                    "group": resource.group,
                    "version": resource.version,
                    "kind": resource.kind,
                },
                "parameters": [
                    {"name": name, "in": "query", "schema": {"type": "string", "uniqueItems": True}}
                    for name in ("dryRun", "fieldValidation")
                ],
                "responses": {"200": {"description": "OK"}},
            }
        }
    return {
        "openapi": "3.0.0",
        "info": {"title": "Kubernetes", "version": GIT_VERSION},
        "paths": paths,
        "components": {"schemas": {}},
    }
