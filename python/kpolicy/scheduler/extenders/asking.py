"""Asks extenders about one pod: which nodes they keep, and how they score them.

Extenders that may not fail come first, and each sees the nodes that those before it kept. All of
them score at once.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeVar

from kpolicy.engine import KeptNode, RefusedNode
from kpolicy.scheduler.extenders.in_force import ExtenderClient, Failed
from kpolicy.scheduler.extenders.protocol import (
    FilterAnswer,
    Unreadable,
    node_names,
    read_filter,
    read_priorities,
    whole_nodes,
)
from kpolicy.scheduler.limits import EXTENDER_INLINE_BYTES_MAX
from kpolicy.scheduler.loop.pod_try import PodLog

Result = TypeVar("Result")

_log = PodLog(__name__)

# What the engine takes: ten times the sum still fits 64 bits, and rules' totals beside it.
_SCORE_MAX: Final = 2**55


@dataclass(frozen=True, slots=True)
class Asked:
    """What is to be told to the engine. `error`: an extender that may not fail did."""

    kept: tuple[KeptNode, ...] = ()
    refused: tuple[RefusedNode, ...] = ()
    error: str = ""


@dataclass(frozen=True, slots=True)
class _Kept:
    nodes: tuple[str, ...] = ()
    refused: tuple[RefusedNode, ...] = ()
    error: str = ""


@dataclass(frozen=True, slots=True)
class Subject:
    """A pod, and every node that may be sent, as the API server has them."""

    pod: bytes
    nodes: Mapping[str, bytes] = field(default_factory=dict)

    def args(self, client: ExtenderClient, names: Sequence[str]) -> bytes:
        if client.extender.node_cache_capable:
            return node_names(self.pod, names)
        return whole_nodes(self.pod, (self.nodes[name] for name in names if name in self.nodes))


async def ask(clients: Sequence[ExtenderClient], subject: Subject, nodes: Sequence[str]) -> Asked:
    """Which nodes all of them keep, and what they give to each."""
    kept = await _filtered(clients, subject, nodes)
    if len(kept.nodes) < 2:  # Clause: one node alone is not scored.
        return Asked(tuple(map(KeptNode, kept.nodes)), kept.refused, kept.error)
    return Asked(await _scored(clients, subject, kept.nodes), kept.refused)


async def _filtered(
    clients: Sequence[ExtenderClient], subject: Subject, nodes: Sequence[str]
) -> _Kept:
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
            return _Kept(error=answer.message)
        kept, more_refused = answer
        refused.update((node.node, node) for node in more_refused)
    # Who was refused by one and named as kept by a later one is kept: the last word counts.
    left = set(kept)
    return _Kept(kept, tuple(node for name, node in refused.items() if name not in left))


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
    # Clause: a node in both maps counts as unresolvable.
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
    """Clause: names count from an extender that knows the nodes, if it gave any; whole nodes from
    any. An answer with neither keeps nothing."""
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
    """What each gave to each node, times its weight, summed up. One that fails gives nothing."""
    asked = [client for client in clients if client.extender.prioritize_verb]
    answers = await asyncio.gather(*(_ask_scores(client, subject, nodes) for client in asked))
    totals = dict.fromkeys(nodes, 0)
    for client, scores in zip(asked, answers, strict=True):
        for node, score in scores.items():
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
    """A large answer is read beside the loop."""
    if len(body) <= EXTENDER_INLINE_BYTES_MAX:
        return read(body)
    return await asyncio.to_thread(read, body)
