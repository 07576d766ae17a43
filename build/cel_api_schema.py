"""Writes `api_schema.py`: `python -m build.cel_api_schema api__v1_openapi.json`.

The argument is `api/openapi-spec/v3/api__v1_openapi.json` of Kubernetes' sources; `LEFT_OUT` names
the fields that expressions may not read. Run it when kpolicy follows a new release of Kubernetes.
It does not run when a policy is loaded.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any, Final

from kpolicy.policy.cel import api_schema

MODULE: Final = Path(api_schema.__file__)
RELEASE: Final = "1.36.2"
_ROOTS: Final = ("Pod", "Node", "Namespace")
_CORE: Final = "io.k8s.api.core.v1."
_LINE: Final = 96
# Schemas that are written as one letter instead of a table of fields, by the end of their name.
_SCALARS: Final = {"Time": "t", "MicroTime": "t", "Quantity": "q", "IntOrString": "d"}
# Fields that are left out, by type. `docs/internals/expressions.md` says why; the engine's codec
# leaves out the same.
LEFT_OUT: Final[dict[str, tuple[str, ...]]] = {
    "ObjectMeta": ("managedFields", "resourceVersion", "selfLink"),
    "Container": (
        "args",
        "command",
        "env",
        "envFrom",
        "lifecycle",
        "livenessProbe",
        "readinessProbe",
        "startupProbe",
    ),
    "PodSpec": ("ephemeralContainers",),
    "PodStatus": (
        "allocatedResources",
        "containerStatuses",
        "ephemeralContainerStatuses",
        "extendedResourceClaimStatus",
        "initContainerStatuses",
        "nodeAllocatableResourceClaimStatuses",
        "resources",
    ),
    "PodCondition": ("lastProbeTime",),
    "NodeSpec": ("configSource", "externalID"),
    "NodeStatus": ("config", "images", "volumesAttached", "volumesInUse"),
    "NodeCondition": ("lastHeartbeatTime",),
    "Volume": ("downwardAPI", "ephemeral", "projected"),
}


def _kept(name: str, field: str) -> bool:
    return field not in LEFT_OUT.get(name, ())


class _Types:
    """The types reached from the roots, in the packed form."""

    def __init__(self, schemas: dict[str, Any]) -> None:
        self._schemas = schemas
        self.lines: dict[str, str] = {}

    def add(self, name: str, full: str) -> None:
        if name in self.lines:
            return
        self.lines[name] = ""
        properties = self._schemas[full].get("properties", {})
        fields = [
            f"{field}:{self._packed(schema)}"
            for field, schema in sorted(properties.items())
            if _kept(name, field) and not (name in _ROOTS and field in ("apiVersion", "kind"))
        ]
        self.lines[name] = " ".join([name, *fields])

    def _packed(self, schema: dict[str, Any]) -> str:
        if "allOf" in schema:
            return self._packed(schema["allOf"][0])
        if "$ref" in schema:
            full: str = schema["$ref"].rsplit("/", 1)[1]
            name: str = full.rsplit(".", 1)[1]
            if name in _SCALARS:
                return _SCALARS[name]
            self.add(name, full)
            return name
        if schema.get("type") == "array":
            return f"[{self._packed(schema['items'])}"
        if schema.get("type") == "object":
            return "{" + self._packed(schema.get("additionalProperties", {}))
        kinds = {"string": "s", "integer": "i", "boolean": "b", "number": "n"}
        return kinds.get(schema.get("type", ""), "d")


def rendered(specification: dict[str, Any]) -> str:
    """The text of the module that holds the schema."""
    types = _Types(specification["components"]["schemas"])
    for root in _ROOTS:
        types.add(root, _CORE + root)
    lines = [part for name in sorted(types.lines) for part in _wrapped(types.lines[name])]
    return (
        '"""Fields of Pod, Node and Namespace. Made by build/cel_api_schema.py; not for editing."""'
        "\n\n"
        f'RELEASE = "{RELEASE}"\n\n'
        "# A type a line, its fields behind it; a line that begins with a space goes on.\n"
        'TYPES = """\\\n' + "\n".join(lines) + '\n"""\n'
    )


def _wrapped(line: str) -> list[str]:
    lines = [""]
    for word in line.split(" "):
        if len(lines[-1]) + len(word) >= _LINE:
            lines.append("")
        lines[-1] += f" {word}" if lines[-1] or len(lines) > 1 else word
    return lines


if __name__ == "__main__":
    MODULE.write_text(rendered(json.loads(Path(sys.argv[1]).read_text("utf-8"))), encoding="utf-8")
