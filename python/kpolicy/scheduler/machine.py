"""What a run takes from its machine: host name, process id, random numbers, the elector's thread.

They are in one place so that a simulation can provide them from a seed.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random
from typing import Protocol, TypeAlias

from kpolicy.cluster.api import ApiClient
from kpolicy.cluster.lease import Elector, LeaseThread


class ElectorThread(Protocol):
    def start(self) -> None: ...

    def stop(self, timeout_s: float) -> bool:
        """Release the lease and end; false when that took too long. Blocks."""


ElectorThreads: TypeAlias = Callable[[ApiClient, Elector, Callable[[], None]], ElectorThread]


@dataclass(frozen=True, slots=True)
class Machine:
    """The real one by default. `run_id` tells this run from all others: it ends the identity in the
    lease and begins every decision id, so that a bind can be traced to who led."""

    host_name: str = field(default_factory=socket.gethostname)
    process_id: int = field(default_factory=os.getpid)
    random: Random = field(default_factory=Random)
    elector_thread: ElectorThreads = LeaseThread
    run_id: str = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "run_id", f"{self.random.getrandbits(32):08x}")

    @property
    def identity(self) -> str:
        return f"{self.host_name}_{self.process_id}_{self.run_id}"
