"""The JSON Schema of what verbs print with `--output json`: one document, with `version` and
`kind`. With `--output jsonl`, the items of the document's list are printed, each on a line; a
summary is a line of its own.
"""

from __future__ import annotations

from typing import Any, Final

# Changes when a field is removed or gets another meaning. New fields may come at any time.
DOCUMENT_VERSION: Final = 1

_TEXT: Final = {"type": "string"}
_WHOLE: Final = {"type": "integer"}
_NUMBER: Final = {"type": "number"}
_TRUTH: Final = {"type": "boolean"}
_ANY_OBJECT: Final = {"type": "object"}


def _object(required: dict[str, Any], **optional: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "required": list(required),
        "properties": {**required, **optional},
    }


def _list(of: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": of}


_FINDING: Final = _object(
    {
        "code": _TEXT,
        "level": {"enum": ["error", "warning", "info"]},
        "message": _TEXT,
        "hint": _TEXT,
        "file": _TEXT,
        "line": _WHOLE,
        "column": _WHOLE,
        "endLine": _WHOLE,
        "endColumn": _WHOLE,
    },
    field=_TEXT,
)
_EXPLANATION: Final = _object(
    {"pod": _TEXT}, nodes=_list(_object({"name": _TEXT})), best=_list(_TEXT)
)
_DECISION: Final = _object({"pod": _TEXT}, node=_TEXT, message=_TEXT, victims=_list(_TEXT))
_MEASURED: Final = _object(
    {
        "workload": _TEXT,
        "nodes": _WHOLE,
        "existing": _WHOLE,
        "pods": _WHOLE,
        "scheduled": _WHOLE,
        "seconds": _NUMBER,
        "podsPerSecond": _NUMBER,
        "p50us": _NUMBER,
        "p99us": _NUMBER,
    }
)
_SUITE: Final = _object({"file": _TEXT, "name": _TEXT, "tests": _list(_object({"name": _TEXT}))})
# By kind: the fields beside `version` and `kind`.
_KINDS: Final = {
    "lint": _object({"findings": _list(_FINDING)}),
    "test": _object(
        {
            "passed": _WHOLE,
            "failed": _WHOLE,
            "leftOut": _WHOLE,
            "fine": _TRUTH,
            "findings": _list(_ANY_OBJECT),
            "suites": _list(_SUITE),
            "coverage": _list(_ANY_OBJECT),
        }
    ),
    "eval": _object({}, value={}, error=_object({"code": _TEXT, "message": _TEXT})),
    "explain": _object({"explanations": _list(_EXPLANATION)}),
    "why": _object(
        {"pod": _TEXT, "situation": _TEXT, "rejectedBy": _ANY_OBJECT, "explanation": _ANY_OBJECT},
        node=_TEXT,
        condition=_TEXT,
    ),
    "simulate": _object({"pods": _list(_DECISION), "summary": _ANY_OBJECT}),
    "diff": _object({"differences": _list(_object({"pod": _TEXT})), "summary": _ANY_OBJECT}),
    "bench": _object({"measured": _list(_MEASURED)}),
    "rule": _object({"codes": _list(_object({"code": _TEXT, "level": _TEXT, "title": _TEXT}))}),
    "policies": _object({"policies": _list(_object({"name": _TEXT, "about": _TEXT}))}),
    "snapshot": _object(
        {
            "bytes": _WHOLE,
            "kinds": _ANY_OBJECT,
            "nodes": _ANY_OBJECT,
            "pods": _ANY_OBJECT,
            "resources": _ANY_OBJECT,
            "problems": _list(_object({"code": _TEXT, "message": _TEXT})),
        }
    ),
    "version": _object({"kpolicy": _TEXT}),
}


def output_schema() -> dict[str, Any]:
    documents = []
    for kind, fields in _KINDS.items():
        own = {"version": {"const": DOCUMENT_VERSION}, "kind": {"const": kind}}
        documents.append(
            {
                "title": f"kpolicy {kind} --output json",
                "type": "object",
                "required": [*own, *fields["required"]],
                "properties": {**own, **fields["properties"]},
            }
        )
    return {"title": "Output", "oneOf": documents}
