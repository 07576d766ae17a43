"""The JSON Schema of `kpolicy.toml`, the settings of `kpolicy lint`."""

from __future__ import annotations

from typing import Any, Final

_TEXTS: Final = {"type": "array", "items": {"type": "string"}}
_LINT: Final = {
    "type": "object",
    "additionalProperties": False,
    "properties": {
        "select": {
            **_TEXTS,
            "default": [],
            "description": "Only these codes are reported, by prefix; empty: all.",
        },
        "ignore": {
            **_TEXTS,
            "default": [],
            "description": "These codes are not reported, by prefix.",
        },
        "deny": {
            **_TEXTS,
            "default": [],
            "description": "These codes are errors, by prefix; `warnings` makes all warnings "
            "errors.",
        },
        "levels": {
            "type": "object",
            "additionalProperties": {"enum": ["error", "warning", "info", "off"]},
            "default": {},
            "description": "The level of codes, by prefix; the longest prefix counts.",
        },
        "scheduler-names": {
            **_TEXTS,
            "description": "Policies that serve other schedulerNames are reported, as `kpolicy "
            "run` does.",
        },
        "extender-hosts": {
            **_TEXTS,
            "description": "Extenders at other addresses are reported; `none` and `any` too.",
        },
        "certificate-folder": {
            "type": "string",
            "description": "Certificate files outside this folder are reported; it is relative to "
            "the file of settings.",
        },
        "tenant-label": {
            "type": "string",
            "description": "Policies for which a tenant is not a value of this label of namespaces "
            "are reported.",
        },
    },
}
SETTINGS_SCHEMA: Final[dict[str, Any]] = {
    "title": "Settings",
    "description": "Settings of `kpolicy lint`, in kpolicy.toml. In pyproject.toml the table is "
    "`[tool.kpolicy.lint]`.",
    "type": "object",
    "properties": {"lint": {**_LINT, "description": "What lint reports, and how severely."}},
}
