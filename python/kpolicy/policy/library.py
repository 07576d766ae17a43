"""The policies that come with kpolicy.

Owns their names and their text, which is data of the package and read as an import is. Assumes the
package is whole. Must not know what is in them.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from typing import Final

from kpolicy.policy.assembly.read_policy import Policy, read_policies
from kpolicy.policy.document_kinds import find_documents
from kpolicy.policy.yaml.source import Source

DEFAULT: Final = "kube-scheduler-default"


@cache
def shipped_source(name: str) -> Source:
    file = f"{name}.yaml"
    return Source(file, files("kpolicy").joinpath("policies", file).read_text("utf-8"))


def _is_test(name: str) -> bool:
    return name.endswith(".test.yaml")


@cache
def shipped_names() -> tuple[str, ...]:
    folder = files("kpolicy").joinpath("policies")
    files_there = (entry.name for entry in folder.iterdir())
    names = (name for name in files_there if name.endswith(".yaml") and not _is_test(name))
    return tuple(sorted(name.removesuffix(".yaml") for name in names))


@cache
def _shipped_policy(name: str) -> Policy | None:
    """A policy to extend that is not among the sources."""
    read = read_policies(find_documents([shipped_source(name)]).documents)
    return next((policy for policy in read.policies if policy.name == name), None)


def extended_policies(policies: Sequence[Policy], sources: Sequence[Source]) -> dict[str, Policy]:
    """Those of the others that `policies` extend, at first or second hand."""
    own = {policy.name for policy in policies}
    library: dict[str, Policy] = {}
    wanted = [policy.model.spec.extends for policy in policies]
    if all(name is None or name in own for name in wanted):
        return library
    others = offered(sources)
    while wanted:
        name = wanted.pop()
        if name is None or name in own or name in library:
            continue
        found = others.get(name) or (_shipped_policy(name) if name in shipped_names() else None)
        if found is not None:
            library[name] = found
            wanted.append(found.model.spec.extends)
    return library


def offered(sources: Sequence[Source]) -> dict[str, Policy]:
    return {one.name: one for one in read_policies(find_documents(sources).documents).policies}
