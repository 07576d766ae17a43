"""kubectl's table: `meta.k8s.io/v1 Table`.

Owns the table around the cells. Pure: the time is an argument. Must not know what cells of a kind
show; that is `cells`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from kpolicy.testing.cells import columns_of, row_of
from kpolicy.testing.resources import Resource
from kpolicy.testing.store import Record
from kpolicy.testing.views import object_as

KIND: Final = "Table"
API_VERSION: Final = "meta.k8s.io/v1"
INCLUDE_METADATA: Final = "Metadata"
INCLUDE_OBJECT: Final = "Object"
INCLUDE_NOTHING: Final = "None"


def table(
    resource: Resource,
    records: Iterable[Record],
    now_ns: int,
    *,
    metadata: Mapping[str, Any],
    include_object: str,
    with_columns: bool = True,
) -> dict[str, Any]:
    columns = columns_of(resource) if with_columns else ()
    return {
        "kind": KIND,
        "apiVersion": API_VERSION,
        "metadata": dict(metadata),
        "columnDefinitions": [
            {
                "name": column.name,
                "type": column.type,
                "format": column.format,
                "description": column.description,
                "priority": column.priority,
            }
            for column in columns
        ],
        "rows": [
            {
                "cells": row_of(resource, record.object, now_ns),
                **_included(resource, record, include_object),
            }
            for record in records
        ],
    }


def _included(resource: Resource, record: Record, include_object: str) -> dict[str, Any]:
    if include_object == INCLUDE_NOTHING:
        return {"object": None}
    if include_object == INCLUDE_OBJECT:
        return {"object": object_as(resource, record)}
    return {
        "object": {
            "kind": "PartialObjectMetadata",
            "apiVersion": API_VERSION,
            "metadata": record.object["metadata"],
        }
    }
