"""Asks extenders which preemption candidates they accept; each sees what those before it left.

The engine found the candidates, checks the result and chooses. Messages are kube-scheduler's.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from kpolicy.engine import Candidates, LeftNode, LeftRoom, Located
from kpolicy.scheduler.extenders.in_force import ExtenderClient, Failed
from kpolicy.scheduler.extenders.protocol import (
    Unreadable,
    meta_victims,
    read_preemption,
    whole_victims,
)
from kpolicy.scheduler.limits import EXTENDER_INLINE_BYTES_MAX
from kpolicy.scheduler.loop.pod_try import PodLog

_log = PodLog(__name__)


@dataclass(frozen=True, slots=True)
class Sources:
    """`located`: where pods are that an extender names; `read`: a pod as the API server has it, or
    None where it is gone."""

    located: Callable[[list[str]], Awaitable[list[Located]]]
    read: Callable[[Located], Awaitable[bytes | Failed | None]]


class Trimming:
    """Of one pod's candidates."""

    def __init__(self, pod: bytes, candidates: Candidates, sources: Sources) -> None:
        self._pod = pod
        self._token = candidates.token
        self._sources = sources
        self._offered = {node.node for node in candidates.nodes}
        self._located = {
            victim.uid: Located(victim.uid, victim.namespace, victim.name, node.node)
            for node in candidates.nodes
            for victim in node.victims
        }
        self._bodies: dict[str, bytes] = {}
        # Who went by himself is shown to nobody, and for the engine he stays among those who go.
        self._gone: set[str] = set()
        self._left = [
            LeftNode(node.node, [victim.uid for victim in node.victims], node.violations)
            for node in candidates.nodes
        ]

    async def ask(self, clients: Sequence[ExtenderClient]) -> LeftRoom:
        """All of those that have a say, in order."""
        for client in clients:
            if not client.extender.preempt_verb:
                continue
            left = await self._ask(client)
            if isinstance(left, Failed):
                if client.extender.ignorable:
                    _log.info("extender %s is left out: %s", client.name, left.message)
                    continue
                return LeftRoom(self._token, left.message, [])
            self._left = self._with_gone(left)
            if not self._left:
                break
        return LeftRoom(self._token, "", self._left)

    async def _ask(self, client: ExtenderClient) -> list[LeftNode] | Failed:
        args = await self._args(client)
        if isinstance(args, Failed):
            return args
        if args is None:
            return []
        body = await client.ask(client.extender.preempt_verb, args)
        if isinstance(body, Failed):
            return body
        if len(body) <= EXTENDER_INLINE_BYTES_MAX:
            left = read_preemption(body)
        else:
            left = await asyncio.to_thread(read_preemption, body)
        if isinstance(left, Unreadable):
            return Failed(f"extender {client.url!r}: {left.message}")
        return await self._checked(client, left)

    async def _args(self, client: ExtenderClient) -> bytes | Failed | None:
        """None: on no node is anybody left who would have to go."""
        if not client.extender.node_cache_capable:
            failed = await self._read_victims()
            if failed is not None:
                return failed
        living = [node for node in map(self._living, self._left) if node.victims]
        if not living:
            return None
        if client.extender.node_cache_capable:
            return meta_victims(self._pod, living)
        return whole_victims(self._pod, living, self._bodies)

    async def _read_victims(self) -> Failed | None:
        for uid in [uid for node in self._left for uid in node.victims]:
            if uid in self._bodies or uid in self._gone:
                continue
            body = await self._sources.read(self._located[uid])
            if isinstance(body, Failed):
                return body
            if body is None:
                self._gone.add(uid)
            else:
                self._bodies[uid] = body
        return None

    def _living(self, node: LeftNode) -> LeftNode:
        return node._replace(victims=[uid for uid in node.victims if uid not in self._gone])

    def _with_gone(self, left: list[LeftNode]) -> list[LeftNode]:
        """A node that nobody has to leave any more was not asked about, and is left."""
        went = {
            node.node: [uid for uid in node.victims if uid in self._gone] for node in self._left
        }
        kept = [
            node._replace(victims=list(dict.fromkeys([*node.victims, *went.get(node.node, ())])))
            for node in left
        ]
        named = {node.node for node in left}
        empty = [node for node in self._left if not self._living(node).victims]
        return kept + [node for node in empty if node.node not in named]

    async def _checked(
        self, client: ExtenderClient, left: list[LeftNode]
    ) -> list[LeftNode] | Failed:
        """Clause: victims may be others than were offered, but each on its node; a node without any
        is a failure, or with `ignorable` left out."""
        others = [uid for node in left for uid in node.victims if uid not in self._located]
        if others:
            found = await self._sources.located(others)
            self._located.update((pod.uid, pod) for pod in found)
        checked = []
        for node in left:
            if node.node not in self._offered:
                return Failed(f'nodeinfo not found for node name "{node.node}"')
            for uid in node.victims:
                located = self._located.get(uid)
                if located is None or located.node != node.node:
                    return Failed(
                        f"extender: {client.extender.url_prefix} claims to preempt pod (UID: "
                        f"&{{{uid}}}) on node: {node.node}, but the pod is not found on that node"
                    )
            if node.victims:
                checked.append(node)
            elif not client.extender.ignorable:
                return Failed(f'expected at least one victim pod on node "{node.node}"')
        return checked
