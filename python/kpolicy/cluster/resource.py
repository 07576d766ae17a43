"""What is listed and watched.

Owns `Resource`.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Resource:
    """What is listed and watched. `name` is what the sink and people call it, `granted_by` the role
    that should allow it."""

    name: str
    path: str
    field_selector: str = ""
    label_selector: str = ""
    granted_by: str = ""

    def query(self) -> dict[str, str]:
        query = {}
        if self.field_selector:
            query["fieldSelector"] = self.field_selector
        if self.label_selector:
            query["labelSelector"] = self.label_selector
        return query
