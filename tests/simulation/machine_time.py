"""Virtual time: runs all event loops of the simulated world in one thread.

Time stands still while a loop has something to do, and then jumps to the next timer. If several
loops could continue, the seed chooses one.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from tests.simulation.event_loop import VirtualLoop

# Duration of one turn of a loop; long enough to notice an endless chain of turns.
TURN_NS: Final = 1_000
# After so many turns without a jump in time, nothing waits for anything any more.
TURNS_WITHOUT_REST_MAX: Final = 400_000


class LivelockError(Exception):
    """A loop runs for ever without waiting."""


class WorldTime:
    def __init__(self, random: Random, began_ns: int) -> None:
        self._random = random
        self._loops: list[VirtualLoop] = []
        self._turns_without_rest = 0
        self.now_ns = began_ns
        self.turns = 0

    def add(self, loop: VirtualLoop) -> None:
        self._loops.append(loop)

    def remove(self, loop: VirtualLoop) -> None:
        self._loops.remove(loop)

    def run_until(self, done: Callable[[], bool], *, until_ns: int | None = None) -> bool:
        """Runs until `done` is true. False if the time reaches `until_ns` or no timer is left."""
        while not done():
            ready = [loop for loop in self._loops if loop.running_ns is not None]
            soonest = min((loop.next_ns(self.now_ns) for loop in ready), default=None)
            if soonest is None or soonest == NEVER:
                return False
            if soonest > self.now_ns:
                if until_ns is not None and soonest > until_ns:
                    self.now_ns = max(self.now_ns, until_ns)
                    return False
                self.now_ns = soonest
                self._turns_without_rest = 0
            due = [loop for loop in ready if loop.next_ns(self.now_ns) <= self.now_ns]
            loop = due[0] if len(due) == 1 else due[self._random.randrange(len(due))]
            self.now_ns += TURN_NS
            self.turns += 1
            self._turns_without_rest += 1
            if self._turns_without_rest > TURNS_WITHOUT_REST_MAX:
                raise LivelockError(f"{loop.name} turns without end")
            loop.turn()
        return True


NEVER: Final = 1 << 62
