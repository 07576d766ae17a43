"""Journals the calls of an engine from the thread that makes them, without ever waiting.

Calls become bytes where they are made, while their answers are at hand: another thread would
compete with the loop for Python's lock. A thread of its own packs and writes them, and frames lines
of watches, which are bytes before. If it is too slow, or if the disk refuses, calls are missed: the
journal then has a gap, and begins again with all objects.
"""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeAlias

from kpolicy.api_times import NANOSECONDS
from kpolicy.clock import Clock
from kpolicy.journal.engine_calls import CALLS, Call, Effect, Held, record_parts
from kpolicy.journal.limits import BACKLOG_BYTES_MAX, BACKLOG_CALLS_MAX, CHUNK_S, LOOK_S, SYNC_S
from kpolicy.journal.segment_files import SegmentFiles
from kpolicy.journal.segment_format import SegmentHeader

_log = logging.getLogger(__name__)

GAP_CODE: Final = "KPS107"
_RECORDED: Final = frozenset(
    name for name, (_, effect) in CALLS.items() if effect is not Effect.READS
)
_FAILED: Final = "a call could not be recorded"
_TOO_SLOW: Final = "calls came faster than they could be written"


class _Answered(NamedTuple):
    """A call of the engine with its answer: the parts of its record."""

    record: Sequence[bytes]
    at_ns: int
    size: int


class _Watched(NamedTuple):
    """Lines of a watch, which are bytes already. Their record is made in the thread of the journal,
    in a row with others: between two calls, even a little Python takes long."""

    call: Call
    at_ns: int
    size: int


@dataclass(frozen=True, slots=True)
class _Marked:
    """What the engine held. To read it takes long, and is done in the thread of the journal."""

    held: Held
    at_ns: int
    size: int = 0


@dataclass(frozen=True, slots=True)
class _Anew:
    """From here on, a new epoch; `program` is the one in force."""

    program: bytes
    gap: str
    gap_from_ns: int
    at_ns: int
    begun: Future[bool]
    size: int = 0


_Work: TypeAlias = "_Answered | _Watched | _Marked | _Anew"


@dataclass(frozen=True, slots=True)
class JournalStatistics:
    """`missed` calls are in gaps. `is_behind`: calls are missed at present."""

    calls: int
    missed: int
    gaps: int
    epochs: int
    bytes_on_disk: int
    backlog: int
    is_behind: bool


class Journal:
    """`on_anew` is called in any thread when a new epoch is needed, after a gap or because the
    present one has used its part of the disk. Then follow `begin_anew` and all lists."""

    def __init__(self, files: SegmentFiles, clock: Clock, on_anew: Callable[[], object]) -> None:
        self._files = files
        self._clock = clock
        self._on_anew = on_anew
        self._work: deque[_Work] = deque()
        self._bytes = 0
        self._more = threading.Condition()
        self._is_stopped = False
        self._is_behind = False
        self._has_asked = False
        self._program = b""
        self._gap, self._gap_from_ns = "", 0
        self._calls = self._missed = self._gaps = self._on_disk = 0
        self._flushed_ns = self._synced_ns = clock.monotonic_ns()
        self._thread = threading.Thread(target=self._run, name="kpolicy-journal", daemon=True)

    def open(self) -> None:
        """The first epoch, before the first call. Raises `OSError`."""
        self._files.begin_epoch(self._clock.now_ns())
        self._on_disk = self._files.size

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Writes what waits."""
        with self._more:
            self._is_stopped = True
            self._more.notify()
        if self._thread.is_alive():
            self._thread.join()
        self.write_waiting()
        try:
            self._files.close()
        except OSError as error:
            _log.warning("the journal could not be closed: %s", error.strerror or error)

    def statistics(self) -> JournalStatistics:
        return JournalStatistics(
            self._calls,
            self._missed,
            self._gaps,
            self._files.epoch,
            self._on_disk,
            len(self._work),
            self._is_behind,
        )

    # --- from the thread of the engine: never waits -----------------------------------------------

    def __call__(
        self, name: str, arguments: tuple[Any, ...], options: Mapping[str, Any], answer: Any
    ) -> None:
        """The engine was called. `answer` may be the exception that it raised."""
        if name not in _RECORDED:
            return
        # Without the lock: in a gap, no record is made in vain.
        is_behind = self._is_behind
        call, now_ns = Call(name, arguments, options), self._clock.now_ns()
        work = None if is_behind else self._work_of(call, answer, now_ns)
        with self._more:
            if name == "load" and answer == []:
                self._program = arguments[0]
            too_many = len(self._work) >= BACKLOG_CALLS_MAX
            if is_behind or self._is_behind:
                self._missed += 1
            elif work is None or too_many or self._bytes + work.size > BACKLOG_BYTES_MAX:
                self._missed += 1
                self._fall_behind(_TOO_SLOW if work is not None else _FAILED)
            else:
                self._work.append(work)
                self._bytes += work.size

    def _work_of(
        self, call: Call, answer: Any, at_ns: int
    ) -> _Answered | _Watched | _Marked | None:
        """None if the call cannot be recorded, which is our mistake: scheduling goes on."""
        if isinstance(answer, Held):
            return _Marked(answer, at_ns)
        try:
            if call.name == "watch" and not isinstance(answer, Exception):
                return _Watched(call, at_ns, len(call.arguments[1]))
            record = record_parts(call, answer, at_ns)
        except Exception:
            _log.exception("the journal failed")
            return None
        return _Answered(record, at_ns, sum(map(len, record)))

    # --- from the loop ----------------------------------------------------------------------------

    def begin_anew(self) -> Future[bool]:
        """Begins a new epoch. The lists of all objects must follow, unless it could not begin."""
        begun: Future[bool] = Future()
        now_ns = self._clock.now_ns()
        with self._more:
            self._work.append(_Anew(self._program, self._gap, self._gap_from_ns, now_ns, begun))
            self._gap, self._gap_from_ns = "", 0
            self._is_behind = False
            self._more.notify()
        return begun

    # --- in its own thread ------------------------------------------------------------------------

    def _run(self) -> None:
        """Looks now and then: to wake with each call would take Python's lock from the loop."""
        while True:
            with self._more:
                if not self._is_stopped:
                    self._more.wait(LOOK_S)
                if self._is_stopped:
                    return
            self.write_waiting()
            self._flush_by_time()

    def write_waiting(self) -> None:
        """Only where no thread does so."""
        while True:
            with self._more:
                if not self._work:
                    return
                work = self._work.popleft()
                self._bytes -= work.size
            self._do(work)

    def _do(self, work: _Work) -> None:
        try:
            match work:
                case _Answered(record, at_ns):
                    self._files.put(record, at_ns)
                    self._calls += 1
                case _Watched(call, at_ns):
                    self._files.put(record_parts(call, None, at_ns), at_ns)
                    self._calls += 1
                case _Marked(held, at_ns):
                    mark = record_parts(Call("checkpoint", ()), held, at_ns)
                    self._files.put(mark, at_ns)
                    self._calls += 1
                    self._has_asked = False
                case _Anew(program, gap, gap_from_ns, at_ns):
                    self._files.begin_epoch(at_ns, gap, gap_from_ns)
                    if program:  # a recorder of another scheduler has none
                        load = record_parts(Call("load", (program,)), [], at_ns)
                        self._files.put(load, at_ns)
                    work.begun.set_result(True)
        except Exception as error:
            if not isinstance(error, OSError):  # ours: scheduling goes on all the same
                _log.exception("the journal failed")
            if isinstance(work, _Anew):
                self._refused(error, work.gap_from_ns)
                work.begun.set_result(False)
            else:
                self._refused(error)
            return
        if self._files.is_worn and not self._has_asked:
            self._has_asked = True
            self._on_anew()

    def _flush_by_time(self) -> None:
        """Little that was recorded must not wait for more."""
        now_ns = self._clock.monotonic_ns()
        if now_ns - self._flushed_ns < CHUNK_S * NANOSECONDS:
            return
        self._flushed_ns = now_ns
        try:
            self._files.flush()
            if now_ns - self._synced_ns >= SYNC_S * NANOSECONDS:
                self._synced_ns = now_ns
                self._files.sync()
        except OSError as error:
            self._refused(error)
        self._on_disk = self._files.size

    def _refused(self, error: Exception, since_ns: int = 0) -> None:
        """`since_ns`: when the gap began that could not be ended."""
        lost_ns = self._files.give_up()
        with self._more:
            self._missed += 1
            if not self._is_behind:
                self._fall_behind(getattr(error, "strerror", None) or str(error))
                self._gap_from_ns = since_ns or lost_ns or self._gap_from_ns

    # --- under the lock ---------------------------------------------------------------------------

    def _fall_behind(self, why: str) -> None:
        self._is_behind = True
        self._gap, self._gap_from_ns = why, self._clock.now_ns()
        self._gaps += 1
        begun = [work.begun for work in self._work if isinstance(work, _Anew)]
        self._missed += len(self._work) - len(begun)
        self._work.clear()
        self._bytes = 0
        for future in begun:
            future.set_result(False)
        _log.warning(
            "the journal has a gap: %s; scheduling goes on",
            why,
            extra={"code": GAP_CODE, "hint": "it begins again with all objects in a minute"},
        )
        self._has_asked = True
        self._on_anew()


OWN_FOLDER: Final = "give each process a folder of its own that it may write to"


def begun(
    folder: Path,
    first: SegmentHeader,
    bytes_max: int,
    clock: Clock,
    on_anew: Callable[[], object],
) -> Journal | str:
    """A journal that is written from now on, or why there is none."""
    try:
        journal = Journal(SegmentFiles(folder, first, bytes_max), clock, on_anew)
        journal.open()
    except BlockingIOError:
        return f"another process writes its journal in {folder}"
    except OSError as error:
        return f"no journal can be written in {folder}: {error.strerror or error}"
    journal.start()
    return journal
