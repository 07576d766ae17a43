"""Fields of a SchedulingPolicy that had another name: each is read, and a fix writes today's."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from kpolicy.diagnostics import Diagnostic, Fix, Severity
from kpolicy.policy.codes.registry import remark
from kpolicy.policy.yaml.nodes import Entry, Mapping, Scalar, rewritten

# Fields of `spec`, and what they are called today.
_TODAY: Final = {"extends": "base"}


def with_names_of_today(root: Mapping) -> tuple[Mapping, tuple[Diagnostic, ...]]:
    """The document with the names that its fields have today, and a finding for each other name.

    A field that is there under both names is left as it is, so that the former one is unknown.
    """
    spec = root.get("spec")
    if not isinstance(spec, Mapping):
        return root, ()
    names = {entry.key.text for entry in spec.entries}
    former = [e for e in spec.entries if e.key.text in _TODAY and _TODAY[e.key.text] not in names]
    if not former:
        return root, ()
    today = replace(spec, entries=tuple(_renamed(e) if e in former else e for e in spec.entries))
    entries = (Entry(e.key, today) if e.key.text == "spec" else e for e in root.entries)
    return replace(root, entries=tuple(entries)), tuple(map(_finding, former))


def _renamed(entry: Entry) -> Entry:
    name = _TODAY[entry.key.text]
    return Entry(Scalar(entry.key.span, name, name), entry.value)


def _finding(entry: Entry) -> Diagnostic:
    name = _TODAY[entry.key.text]
    edit = rewritten(entry.key, name)
    return remark(
        "KP130",
        f"`{entry.key.text}` is called `{name}` today",
        entry.key.span,
        hint=f"write `{name}`",
        field=f"spec.{name}",
        fix=Fix((edit,)) if edit is not None else None,
        severity=Severity.INFO,
    )
