"""ConfigMaps of the cluster that policies take params from, read with the policies.

Owns which are asked for (those that `paramsFrom` names and that are not among the files) and what
it means when one cannot be read. They are read whenever the policies are. Must not know what a
param is.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from kpolicy.cluster.api import ApiClient, Response
from kpolicy.cluster.failure import Status
from kpolicy.policy.config_maps import wanted_config_maps
from kpolicy.policy.model import ConfigMapReference
from kpolicy.policy.source import Source
from kpolicy.scheduler.policy_source import FixedSource, PolicySource
from kpolicy.scheduler.problem import POLICY_UNREADABLE, Problem

_NOT_FOUND = 404
_FORBIDDEN = 403


class WithConfigMaps:
    """A source of policies, together with the ConfigMaps that they name."""

    def __init__(self, policies: PolicySource, client: ApiClient) -> None:
        self._policies = policies
        self._client = client

    async def read(self) -> tuple[Source, ...] | Problem:
        sources = await self._policies.read()
        if isinstance(sources, Problem):
            return sources
        # What is not there is left for the compiler to tell.
        wanted = await asyncio.to_thread(wanted_config_maps, sources)
        found: list[Source] = []
        for reference in wanted:
            read = await self._held(reference)
            if isinstance(read, Problem):
                return read
            found += [read] if read is not None else []
        return (*sources, *found)

    async def changed(self) -> None:
        await self._policies.changed()

    def of(self, sources: Sequence[Source]) -> WithConfigMaps:
        """The same of other policies."""
        return WithConfigMaps(FixedSource(sources), self._client)

    async def _held(self, reference: ConfigMapReference) -> Source | Problem | None:
        name = f"{reference.namespace}/{reference.name}"
        path = f"/api/v1/namespaces/{reference.namespace}/configmaps/{reference.name}"
        answer = await self._client.request("GET", path)
        if isinstance(answer, Response):
            return Source(f"ConfigMap {name}", answer.body, is_for_params=True)
        code = answer.code if isinstance(answer, Status) else 0
        if code == _NOT_FOUND:
            return None
        hint = "allow `get` of it by RBAC" if code == _FORBIDDEN else ""
        message = f"cannot read the ConfigMap {name} that a policy takes params from: {answer}"
        return Problem(POLICY_UNREADABLE, message, hint)
