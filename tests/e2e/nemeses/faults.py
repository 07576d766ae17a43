"""The faults that the proxy can cause, and the script that says to which calls they happen."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from typing import TypeAlias
from urllib.parse import parse_qs

WRITES = frozenset({"POST", "PUT", "PATCH", "DELETE"})


@dataclass(slots=True)
class Call:
    """A request; it has a `status` when the API server has answered."""

    method: str
    path: str
    query: str = ""
    body: bytes = b""
    status: int = 0

    @property
    def writes(self) -> bool:
        return self.method in WRITES

    @property
    def is_bind(self) -> bool:
        return self.method == "POST" and self.path.endswith("/binding")

    @property
    def is_lease(self) -> bool:
        return "/leases" in self.path

    @property
    def is_watch(self) -> bool:
        return "watch=" in self.query

    @property
    def resource(self) -> str:
        """The resource of a list or a watch: the last word of its path."""
        return self.path.rpartition("/")[2]

    @property
    def version(self) -> int:
        """The requested resource version; 0 for none."""
        asked = parse_qs(self.query).get("resourceVersion", ["0"])[0]
        return int(asked or "0")


@dataclass(frozen=True, slots=True)
class Answer:
    """The proxy answers, and the API server does not receive the request."""

    status: int
    retry_after_s: int | None = None


@dataclass(frozen=True, slots=True)
class Drop:
    """The request is lost: the connection breaks before the API server receives it."""


@dataclass(frozen=True, slots=True)
class LoseAnswer:
    """The API server carries out the request, and the answer is lost; `then` runs between."""

    then: Callable[[Call], None] | None = None


@dataclass(frozen=True, slots=True)
class Late:
    """The request reaches the API server later, even if nobody waits for the answer any more."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Delay:
    """The API server has carried out the request, and the answer arrives later."""

    seconds: float


@dataclass(frozen=True, slots=True)
class CloseAfter:
    """The request is answered, and the connection closed with the answer: HTTP/1.1's form of
    GOAWAY."""


Failing: TypeAlias = Answer | Drop | Late | LoseAnswer | Delay | CloseAfter


@dataclass(frozen=True, slots=True)
class Hold:
    """The request waits in the proxy until `released` is set. Then it passes, or meets the next
    fault."""

    then: Failing | None = None
    met: threading.Event = field(default_factory=threading.Event)
    released: threading.Event = field(default_factory=threading.Event)


class Twice:
    """Every line of a watch is sent twice."""

    def __init__(self) -> None:
        self._rest = b""

    def feed(self, chunk: bytes) -> bytes:
        *lines, self._rest = (self._rest + chunk).split(b"\n")
        return b"".join(2 * (line + b"\n") for line in lines)


class Cut(Enum):
    RESET = "reset"
    CLOSE = "close"  # a proper end of the connection in the middle of a chunk


@dataclass(frozen=True, slots=True, eq=False)
class WatchCut:
    how: Cut


Fault: TypeAlias = Failing | Hold


@dataclass(slots=True)
class _Due:
    when: Callable[[Call], bool]
    fault: Fault
    times: int


class Script:
    """The faults to come. The threads of the test and of the proxy use it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._due: list[_Due] = []
        self._held: list[Hold] = []

    def add(self, when: Callable[[Call], bool], fault: Fault, times: int) -> None:
        with self._lock:
            self._due.append(_Due(when, fault, times))
            if isinstance(fault, Hold):
                self._held.append(fault)

    def take(self, call: Call) -> Fault | None:
        with self._lock:
            for due in self._due:
                if due.times and due.when(call):
                    due.times -= 1
                    return due.fault
        return None

    def pending(self) -> int:
        with self._lock:
            return sum(due.times for due in self._due)

    def clear(self) -> None:
        with self._lock:
            self._due.clear()
            for hold in self._held:
                hold.released.set()
            self._held.clear()


def bind_of(pod: str) -> Callable[[Call], bool]:
    return lambda call: call.is_bind and call.path.endswith(f"/pods/{pod}/binding")


def is_bind(call: Call) -> bool:
    return call.is_bind


def is_watch_of(resource: str) -> Callable[[Call], bool]:
    return lambda call: call.is_watch and call.resource == resource
