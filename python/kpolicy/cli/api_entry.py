"""Entries for facts by API path, such as `node.status.nodeInfo.kernelVersion`.

Names and types are those of the compiler; what a field means is told by the models of the
Kubernetes client, if that release has the field.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from kpolicy.policy.reference.entry import Entry

_PREFIX: Final = "v1."


def api_entry(written: str, wakes: Mapping[str, Sequence[str]]) -> Entry | None:
    """The field at a path; None if the API has none."""
    from kpolicy.policy.cel.facts import API_PARTS, API_ROOTS, CATALOGUE
    from kpolicy.policy.cel.types import Type
    from kpolicy.policy.reference.entry import Entry
    from kpolicy.policy.reference.finding import without_arguments
    from kpolicy.policy.reference.language_entries import FACT, cost_of

    root, *names = without_arguments(written).split(".")
    if root not in API_ROOTS or len(names) < 2 or names[0] not in API_PARTS:
        return None
    owner = holder = CATALOGUE.object_type(Type(CATALOGUE.roots[root].type))
    path, result = root, Type("")
    for name in names:
        member = owner.members.get(name) if owner is not None else None
        if member is None:
            return None
        # Below a list the path goes on in its items.
        path += "[0]" if result.name == "list" else ""
        path, holder, result = f"{path}.{name}", owner, member.result
        owner = CATALOGUE.object_type(result.parameters[0] if result.name == "list" else result)
    assert holder is not None
    return Entry(
        ".".join((root, *names)),
        FACT,
        field_meaning(holder.name.removeprefix(_PREFIX), names[-1]),
        f"has({path})",
        (f"{path} → {str(result).replace(_PREFIX, '')}",),
        group=root,
        cost=cost_of(f"has({path})"),
        wakes=tuple(wakes.get(f"{root}.{names[0]}", ())),
    )


def field_meaning(kind: str, field: str) -> str:
    """The first sentence of what Kubernetes says of a field, or of the objects that it holds; empty
    if the client lacks it."""
    from kpolicy.policy.cel.facts import CATALOGUE

    model = _model(kind)
    own_names = {api: own for own, api in getattr(model, "attribute_map", {}).items()}
    described = getattr(model, "model_fields", {}).get(own_names.get(field, ""))
    text = (described.description if described else "") or ""
    if not text:
        held = CATALOGUE.types[f"{_PREFIX}{kind}"].members[field].result.name
        text = (getattr(_model(held.removeprefix(_PREFIX)), "__doc__", "") or "").strip()
        text = text.partition("\n\n")[0]
    return _first_sentence(" ".join(text.split()))


def _model(kind: str) -> object:
    from kubernetes.client import models

    # The name of a kind that another group of the API has too begins with that of its group.
    return getattr(models, f"CoreV1{kind}", None) or getattr(models, f"V1{kind}", None)


def _first_sentence(text: str) -> str:
    end = re.search(r"(?<!e\.g)(?<!i\.e)\.(?= [A-Z]|$)", text)
    return text[: end.end()] if end else text
