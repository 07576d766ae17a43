"""The acts of the nemesis on the policy, from a seed: changed, broken, flapping, and restarts
meanwhile.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Coroutine, Sequence
from random import Random
from typing import Any, Final

from tests.simulation.instance import Instance
from tests.simulation.policies import Offered, PolicyText

BAD_S: Final = (0.1, 3.0, 20.0)
FLAP_S: Final = 0.1


class PolicyTrouble:
    def __init__(
        self,
        random: Random,
        offered: Offered,
        goods: Sequence[PolicyText],
        instances: Sequence[Instance],
    ) -> None:
        self._random = random
        self._offered = offered
        self._goods = tuple(goods)
        self._instances = instances
        self.counts: Counter[str] = Counter()
        self.acts: dict[Callable[[], Coroutine[Any, Any, None]], int] = {
            self.change: 6,
            self.spoil: 4,
            self.flap: 2,
            self.restart_while_bad: 3,
        }

    async def change(self) -> None:
        self.counts["policy changed"] += 1
        self._good()

    async def spoil(self) -> None:
        self.counts["bad policy"] += 1
        self._offered.spoil(self._random)
        await asyncio.sleep(self._random.choice(BAD_S))
        self._good()

    async def flap(self) -> None:
        self.counts["policy flapping"] += 1
        for _ in range(self._random.randint(2, 8)):
            self._offered.spoil(self._random)
            await asyncio.sleep(FLAP_S)
            self._good()
            await asyncio.sleep(FLAP_S)

    async def restart_while_bad(self) -> None:
        """Restarts while the policy is bad, so that the last good policy is loaded from where it
        was kept."""
        self.counts["restarted with a bad policy"] += 1
        self._offered.spoil(self._random)
        await asyncio.sleep(self._random.choice(BAD_S))
        for instance in self._random.choice((self._instances, self._instances[:1])):
            instance.end("SIGKILL")
        await asyncio.sleep(self._random.choice((10.0, 40.0)))
        self._good()

    def _good(self) -> None:
        self._offered.put(self._random.choice(self._goods))
