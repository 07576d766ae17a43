"""Policies that others may extend by name: those that come with kpolicy, and those of a library."""

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


@cache
def shipped_names() -> tuple[str, ...]:
    """The names of the policies in the package, without their tests."""
    names = [entry.name for entry in files("kpolicy").joinpath("policies").iterdir()]
    policies = (n for n in names if n.endswith(".yaml") and not n.endswith(".test.yaml"))
    return tuple(sorted(name.removesuffix(".yaml") for name in policies))


@cache
def _shipped_policy(name: str) -> Policy | None:
    return offered([shipped_source(name)]).get(name) if name in shipped_names() else None


def extended_policies(policies: Sequence[Policy], sources: Sequence[Source]) -> dict[str, Policy]:
    """The policies of `sources` or of kpolicy that `policies` extend, directly or not, by name."""
    own = {policy.name for policy in policies}
    extended: dict[str, Policy] = {}
    wanted = {policy.model.spec.extends for policy in policies} - own
    others = offered(sources) if wanted - {None} else {}
    while wanted:
        name = wanted.pop() or ""
        found = others.get(name) or _shipped_policy(name)
        if found is not None:
            extended[name] = found
            wanted |= {found.model.spec.extends} - own - extended.keys()
    return extended


def offered(sources: Sequence[Source]) -> dict[str, Policy]:
    """The policies of `sources` by name."""
    read = read_policies(find_documents(sources).documents)
    return {policy.name: policy for policy in read.policies}
