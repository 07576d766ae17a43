"""The pydantic base of everything read from a document.

Owns strictness: unknown fields are errors, nothing is converted, nothing changes after. Assumes
plain data. Must not know any document.
"""

from __future__ import annotations

from typing import Annotated, Any, NoReturn

from pydantic import BaseModel, ConfigDict, StringConstraints
from pydantic.alias_generators import to_camel
from pydantic_core import PydanticCustomError


class Edge(BaseModel):
    """Strict and frozen; written in camelCase as Kubernetes does."""

    model_config = ConfigDict(
        strict=True,
        extra="forbid",
        frozen=True,
        alias_generator=to_camel,
        # Only the written names count: `tie_break` is as unknown as `tiebreak`.
        validate_by_name=False,
        allow_inf_nan=False,
    )


NonEmpty = Annotated[str, StringConstraints(min_length=1, max_length=253)]


def refuse(code: str, message: str, at: tuple[str | int, ...] = (), hint: str = "") -> NoReturn:
    """Fail a validator with a code of ours and the place, relative to the model, it is about."""
    context: dict[str, Any] = {"hint": hint, "at": at}
    raise PydanticCustomError(code, message, context)
