"""Passes claims on devices, as the API server answers them, on to the engine at once.

The watch may lag behind, and until it shows them, another pod could be given the same devices.
"""

from __future__ import annotations

import json
from typing import Any

from kpolicy.scheduler.loop.queue_feed import QueueFeed
from kpolicy.scheduler.runtime import EngineThread


class ClaimAnswers:
    def __init__(self, thread: EngineThread, feed: QueueFeed) -> None:
        self._thread = thread
        self._feed = feed

    async def take(self, claim: dict[str, Any]) -> None:
        """The API server has the claim as it is here. Pods that this may help are woken."""
        line = json.dumps({"type": "MODIFIED", "object": claim}, separators=(",", ":"))
        applied = await self._thread.call(
            self._thread.engine.wrote, "resourceclaims", line.encode() + b"\n"
        )
        await self._feed.take_wakes(applied.wakes)
