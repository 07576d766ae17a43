"""Lists the nodes and pods of the cluster, for those who compare them with our own state.

It reads JSON without the engine's decoder, so that a mistake of the decoder does not hide itself.
Pages are read in a thread, so that the loop is not blocked.
"""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass, field
from typing import Any

from kpolicy.cluster.api import ApiClient
from kpolicy.cluster.limits import LIST_PAGE_OBJECTS
from kpolicy.cluster.request_failure import Failure
from kpolicy.cluster.watch.listing import Broken, Listed, read_list
from kpolicy.cluster.watch.resource import LinesRead, PageRead, Resource


@dataclass(frozen=True, slots=True)
class RosterPod:
    """A pod. `node` and `nominated` are empty if the API server names none."""

    key: str
    node: str = ""
    nominated: str = ""
    scheduler: str = ""
    is_leaving: bool = False


@dataclass(frozen=True, slots=True)
class Roster:
    nodes: frozenset[str]
    pods: dict[str, RosterPod]  # by uid


@dataclass(slots=True)
class _Pages:
    """The sink of one list."""

    nodes: set[str] = field(default_factory=set)
    pods: dict[str, RosterPod] = field(default_factory=dict)

    async def list_begin(self, resource: str) -> None:
        self.nodes.clear()
        self.pods.clear()

    async def list_page(self, resource: str, body: bytes) -> PageRead:
        return await asyncio.to_thread(self._read, body)

    async def list_end(self, resource: str, resource_version: str) -> None:
        pass

    async def lines(self, resource: str, lines: bytes) -> LinesRead:
        raise AssertionError("nothing is watched")

    def _read(self, body: bytes) -> PageRead:
        page = json.loads(body)
        is_pods = page["kind"] == "PodList"
        for item in page.get("items") or ():
            metadata = item["metadata"]
            if is_pods:
                self.pods[metadata["uid"]] = _pod(item, metadata)
            else:
                self.nodes.add(metadata["name"])
        metadata = page["metadata"]
        return PageRead(metadata.get("continue") or "", metadata.get("resourceVersion") or "")


async def read_roster(client: ApiClient, nodes: Resource, pods: Resource) -> Roster | str:
    """Return both lists, or the reason why that failed. Pages that fail are not requested again:
    the caller can compare later."""
    read: list[_Pages] = []
    for resource in (nodes, pods):
        sink = _Pages()
        if why := await _read(client, resource, sink):
            return f"{resource.name}: {why}"
        read.append(sink)
    return Roster(frozenset(read[0].nodes), read[1].pods)


async def _read(client: ApiClient, resource: Resource, sink: _Pages) -> str:
    try:
        outcome = await read_list(
            client,
            resource,
            sink,
            seen="",
            not_older_than="",
            page_objects=LIST_PAGE_OBJECTS,
            refuse_stale=False,
            pause=_no_pause,
        )
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        return f"the list could not be read: {type(error).__name__}: {error}"
    if isinstance(outcome, Listed):
        return ""
    return str(outcome.failure) if isinstance(outcome, Broken) else "the list is out of date"


async def _no_pause(_: Failure) -> None:
    pass


def _pod(item: dict[str, Any], metadata: dict[str, Any]) -> RosterPod:
    spec, status = item["spec"], item.get("status") or {}
    return RosterPod(
        f"{metadata['namespace']}/{metadata['name']}",
        spec.get("nodeName") or "",
        status.get("nominatedNodeName") or "",
        spec.get("schedulerName") or "",
        is_leaving="deletionTimestamp" in metadata,
    )
