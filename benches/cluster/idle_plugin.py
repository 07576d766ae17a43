"""A plugin at each extension point that does nothing: what is measured is the asking."""

from __future__ import annotations

from kpolicy.plugins import Handle, Pod


class Idle:
    def __init__(self, handle: Handle) -> None:
        pass

    async def pre_enqueue(self, pod: Pod) -> None: ...

    async def queue_key(self, pod: Pod) -> float:
        return 0.0

    async def reserve(self, pod: Pod, node: str) -> None: ...

    async def unreserve(self, pod: Pod, node: str) -> None: ...

    async def permit(self, pod: Pod, node: str) -> None: ...

    async def pre_bind(self, pod: Pod, node: str) -> None: ...

    async def bind(self, pod: Pod, node: str) -> bool:
        return False

    async def post_bind(self, pod: Pod, node: str) -> None: ...
