"""Placements that are decided and whose bind is not sent: as long as one may be taken back.

Owns which these are, and what takes one back: a pod of higher priority, or the deletion of its
node. The API server binds pods to nodes that it does not have, so that whoever has heard of the
deletion must not send. Must not know binds, nor how news of nodes comes.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from kpolicy.scheduler.bind_end import WITHDRAWN, BindEnd, node_left


class Unsent:
    def __init__(self) -> None:
        self._unsent: dict[str, tuple[str, asyncio.Future[BindEnd]]] = {}
        self._in_doubt: dict[str, str] = {}

    def begin(self, uid: str, node: str) -> asyncio.Future[BindEnd]:
        """Done once it is not to be sent, with its end."""
        taken_back: asyncio.Future[BindEnd] = asyncio.get_running_loop().create_future()
        self._unsent[uid] = (node, taken_back)
        return taken_back

    def end(self, uid: str) -> None:
        """It is sent now, or has come to its end."""
        del self._unsent[uid]

    def doubt(self, uid: str, node: str) -> None:
        """It was sent, and perhaps is to be sent again."""
        self._in_doubt[uid] = node

    def may_send_again(self, uid: str) -> bool:
        return uid in self._in_doubt

    def settled(self, uid: str) -> None:
        self._in_doubt.pop(uid, None)

    def __len__(self) -> int:
        return len(self._unsent) + len(self._in_doubt)

    def withdraw(self, uid: str) -> bool:
        """Take it back, for its room; false where that is too late."""
        _, taken_back = self._unsent.get(uid, ("", None))
        if taken_back is not None and not taken_back.done():
            taken_back.set_result(WITHDRAWN)
        return taken_back is not None

    def nodes_left(self, is_left: Callable[[str], bool]) -> None:
        for node, taken_back in self._unsent.values():
            if not taken_back.done() and is_left(node):
                taken_back.set_result(node_left(node))
        for uid in [uid for uid, node in self._in_doubt.items() if is_left(node)]:
            del self._in_doubt[uid]
