"""Asks extenders about one pod: what nodes they keep, how they score them, whom to evict.

Extenders that may not fail come first, and each sees what those before it left. All of them score
at once. The engine found the nodes and candidates, and chooses. Messages are kube-scheduler's.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeVar

from kpolicy.engine import (
    Candidates,
    JudgedNodes,
    KeptNode,
    Located,
    RefusedNode,
    RemainingCandidate,
    RemainingCandidates,
)
from kpolicy.scheduler.extenders.in_force import ExtenderClient, Failed
from kpolicy.scheduler.extenders.protocol import (
    FilterAnswer,
    Unreadable,
    meta_victims,
    node_names,
    read_filter,
    read_preemption,
    read_priorities,
    whole_nodes,
    whole_victims,
)
from kpolicy.scheduler.limits import EXTENDER_INLINE_BYTES_MAX
from kpolicy.scheduler.loop.pod_try import PodLog

_log = PodLog(__name__)


Result = TypeVar("Result")


# The engine's bound: ten times the sum fits 64 bits, and rules' totals beside it.
_SCORE_MAX: Final = 2**55


@dataclass(frozen=True, slots=True)
class Asked:
    """The answers as the engine needs them. `error`: an extender that is not `ignorable` failed."""

    kept: tuple[KeptNode, ...] = ()
    refused: tuple[RefusedNode, ...] = ()
    error: str = ""

    def judged(self, token: int) -> JudgedNodes:
        return JudgedNodes(token, self.kept, self.refused)


@dataclass(frozen=True, slots=True)
class Subject:
    """A pod, and all nodes that may be sent to extenders, as the API server has them."""

    pod: bytes
    nodes: Mapping[str, bytes] = field(default_factory=dict)

    def args(self, client: ExtenderClient, names: Sequence[str]) -> bytes:
        if client.extender.node_cache_capable:
            return node_names(self.pod, names)
        return whole_nodes(self.pod, (self.nodes[name] for name in names if name in self.nodes))


async def ask(clients: Sequence[ExtenderClient], subject: Subject, nodes: Sequence[str]) -> Asked:
    """The nodes that all extenders keep, and the scores of each node."""
    asked = await _filtered(clients, subject, nodes)
    if len(asked.kept) < 2:  # As in kube-scheduler: a single node is not scored.
        return asked
    kept = [node.node for node in asked.kept]
    return Asked(await _scored(clients, subject, kept), asked.refused)


async def _filtered(
    clients: Sequence[ExtenderClient], subject: Subject, nodes: Sequence[str]
) -> Asked:
    kept = tuple(nodes)
    refused: dict[str, RefusedNode] = {}
    for client in clients:
        if not kept:
            break
        if not client.extender.filter_verb:
            continue
        answer = await _ask_filter(client, subject, kept)
        if isinstance(answer, Failed):
            if client.extender.ignorable:
                _log.info("extender %s is left out: %s", client.name, answer.message)
                continue
            return Asked(error=answer.message)
        kept, more_refused = answer
        refused.update((node.node, node) for node in more_refused)
    # If one extender refused a node and a later one kept it, it is kept: the last answer counts.
    left = set(kept)
    still_refused = tuple(node for name, node in refused.items() if name not in left)
    return Asked(tuple(map(KeptNode, kept)), still_refused)


async def _ask_filter(
    client: ExtenderClient, subject: Subject, nodes: tuple[str, ...]
) -> tuple[tuple[str, ...], list[RefusedNode]] | Failed:
    body = await client.ask(client.extender.filter_verb, subject.args(client, nodes))
    answer = body if isinstance(body, Failed) else await _read(read_filter, body)
    if isinstance(answer, Failed):
        return answer
    if isinstance(answer, Unreadable):
        return Failed(f"extender {client.url!r}: {answer.message}")
    if answer.error:
        return Failed(answer.error)
    kept = _kept(client, answer, nodes)
    if isinstance(kept, Failed):
        return kept
    # As in kube-scheduler: a node in both maps counts as unresolvable.
    reasons, known = {**answer.failed, **answer.unresolvable}, set(nodes)
    refused = [
        RefusedNode(node, reason, node in answer.unresolvable)
        for node, reason in reasons.items()
        if node in known
    ]
    return kept, refused


def _kept(
    client: ExtenderClient, answer: FilterAnswer, nodes: tuple[str, ...]
) -> tuple[str, ...] | Failed:
    """The nodes that an extender kept. kube-scheduler takes names from an extender that caches
    nodes, if it gave any; otherwise whole nodes. An answer with neither keeps nothing."""
    known = set(nodes)
    if client.extender.node_cache_capable and answer.names is not None:
        for name in answer.names:
            if name not in known:
                return Failed(
                    f'extender "{client.extender.url_prefix}" claims a filtered node "{name}" '
                    "which is not found in the input node list"
                )
        return tuple(dict.fromkeys(answer.names))
    return tuple(name for name in dict.fromkeys(answer.nodes or ()) if name in known)


async def _scored(
    clients: Sequence[ExtenderClient], subject: Subject, nodes: Sequence[str]
) -> tuple[KeptNode, ...]:
    """The sum of all scores of each node, times the weights. An extender that fails adds none."""
    asked = [client for client in clients if client.extender.prioritize_verb]
    async with asyncio.TaskGroup() as group:
        answers = [group.create_task(_ask_scores(client, subject, nodes)) for client in asked]
    totals = dict.fromkeys(nodes, 0)
    for client, scores in zip(asked, answers, strict=True):
        for node, score in scores.result().items():
            if node in totals:
                totals[node] += score * client.extender.weight
    return tuple(
        KeptNode(node, max(-_SCORE_MAX, min(total, _SCORE_MAX))) for node, total in totals.items()
    )


async def _ask_scores(
    client: ExtenderClient, subject: Subject, nodes: Sequence[str]
) -> dict[str, int]:
    body = await client.ask(client.extender.prioritize_verb, subject.args(client, nodes))
    scores = body if isinstance(body, Failed) else await _read(read_priorities, body)
    if isinstance(scores, Failed | Unreadable):
        _log.info("extender %s gave no scores: %s", client.name, scores.message)
        return {}
    return scores


async def _read(read: Callable[[bytes], Result], body: bytes) -> Result:
    """Reads the answer. A large answer is read in a thread, so that the loop is not blocked."""
    if len(body) <= EXTENDER_INLINE_BYTES_MAX:
        return read(body)
    return await asyncio.to_thread(read, body)


class Trimming:
    """Asks about the candidates of one pod. `located` says on which node a pod is; `read` returns a
    pod as the API server has it, or None if it is gone."""

    def __init__(
        self,
        pod: bytes,
        candidates: Candidates,
        *,
        located: Callable[[list[str]], Awaitable[list[Located]]],
        read: Callable[[Located], Awaitable[bytes | Failed | None]],
    ) -> None:
        self._pod = pod
        self._token = candidates.token
        self._find = located
        self._read = read
        self._offered = {node.node for node in candidates.nodes}
        self._located = {
            victim.uid: Located(victim.uid, victim.namespace, victim.name, node.node)
            for node in candidates.nodes
            for victim in node.victims
        }
        self._bodies: dict[str, bytes] = {}
        # Victims that are gone by now. They are not sent to extenders, but the engine still counts
        # them.
        self._gone: set[str] = set()
        self._left = [
            RemainingCandidate(node.node, [victim.uid for victim in node.victims], node.violations)
            for node in candidates.nodes
        ]

    async def ask(self, clients: Sequence[ExtenderClient]) -> RemainingCandidates | Failed:
        """Asks the extenders with a preempt verb, in order. A failure is that of the API server, if
        it does not answer about a victim."""
        for client in clients:
            if not client.extender.preempt_verb:
                continue
            if not client.extender.node_cache_capable:
                unread = await self._read_victims()
                if unread is not None:
                    return unread
            left = await self._ask(client)
            if isinstance(left, Failed):
                if client.extender.ignorable:
                    _log.info("extender %s is left out: %s", client.name, left.message)
                    continue
                return RemainingCandidates(self._token, left.message, [])
            self._left = self._with_gone(left)
            if not self._left:
                break
        return RemainingCandidates(self._token, "", self._left)

    async def _ask(self, client: ExtenderClient) -> list[RemainingCandidate] | Failed:
        args = self._args(client)
        if args is None:
            return []
        body = await client.ask(client.extender.preempt_verb, args)
        if isinstance(body, Failed):
            return body
        left = await _read(read_preemption, body)
        if isinstance(left, Unreadable):
            return Failed(f"extender {client.url!r}: {left.message}")
        return await self._checked(client, left)

    def _args(self, client: ExtenderClient) -> bytes | None:
        """Returns None if no node has a victim left."""
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
            body = await self._read(self._located[uid])
            if isinstance(body, Failed):
                return body
            if body is None:
                self._gone.add(uid)
            else:
                self._bodies[uid] = body
        return None

    def _living(self, node: RemainingCandidate) -> RemainingCandidate:
        return node._replace(victims=[uid for uid in node.victims if uid not in self._gone])

    def _with_gone(self, left: list[RemainingCandidate]) -> list[RemainingCandidate]:
        """Adds what the extender was not asked about: victims that are gone, and nodes that have no
        other victims."""
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
        self, client: ExtenderClient, left: list[RemainingCandidate]
    ) -> list[RemainingCandidate] | Failed:
        """The extender may name other victims than it was offered, but each must be on its node. A
        node without victims is a failure; it is left out if the extender is `ignorable`."""
        others = [uid for node in left for uid in node.victims if uid not in self._located]
        if others:
            self._located.update((pod.uid, pod) for pod in await self._find(others))
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
