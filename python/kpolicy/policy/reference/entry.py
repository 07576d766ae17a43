"""An entry of the reference, in the form that text, JSON and pages are made of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from kpolicy.policy.reference.fields import Field


@dataclass(frozen=True, slots=True)
class Entry:
    """`forms`: how it is called. `cost`: the most that the example may take on one node. `wakes`:
    what tries a pod again that was rejected by it."""

    name: str
    kind: str
    meaning: str
    example: str
    forms: tuple[str, ...] = ()
    group: str = ""
    cost: int | None = None
    charged: str = ""
    known: str = ""
    wakes: tuple[str, ...] = ()
    arguments: tuple[tuple[str, Field], ...] = ()
    releases: str = ""
    weight: int = 0

    def document(self) -> dict[str, Any]:
        fields: dict[str, Any] = {
            "name": self.name,
            "kind": self.kind,
            "forms": list(self.forms),
            "meaning": self.meaning,
            "example": self.example,
            "cost": self.cost,
            "charged": self.charged,
            "known": self.known,
            "wakes": list(self.wakes),
            "arguments": [
                {
                    "name": path,
                    "type": field.type,
                    "default": field.default,
                    "meaning": field.meaning,
                }
                for path, field in self.arguments
            ],
            "releases": self.releases,
            "weight": self.weight,
        }
        return {name: value for name, value in fields.items() if value not in (None, "", [], 0)}
