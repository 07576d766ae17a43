"""The command line: `python -m kpolicy`, and what the installed command runs.

Until the modules are loaded, and after the verb has ended, ctrl-C ends the process at once. In
between, `kpolicy.cli.interrupts` says what it does.
"""

from __future__ import annotations

import atexit
import contextlib
import gc
import os
import signal
import sys
import threading
from types import FrameType

_INTERRUPTED = 130
# Loading modules makes many objects and no garbage: collecting less often saves a fifth of the
# time of a short command. `kpolicy run` sets its own pace.
_OBJECTS_A_COLLECTION = 100_000


def _end_now(_number: int, _frame: FrameType | None) -> None:
    os._exit(_INTERRUPTED)


def main() -> int:
    """The exit code of the process."""
    is_main = threading.current_thread() is threading.main_thread()
    # A shell that starts a command in the background has SIGINT ignored; that stays.
    gc.set_threshold(_OBJECTS_A_COLLECTION)
    is_watched = is_main and signal.getsignal(signal.SIGINT) is not signal.SIG_IGN
    if is_watched:
        signal.signal(signal.SIGINT, _end_now)
    # Loaded while ctrl-C is safe.
    from kpolicy.cli import main as run  # noqa: PLC0415
    from kpolicy.cli.interrupts import end_if_lost, interrupt  # noqa: PLC0415

    if not is_watched:
        return run()
    sys.unraisablehook = end_if_lost
    signal.signal(signal.SIGINT, interrupt)
    try:
        code = run()
    except KeyboardInterrupt:  # between the handlers
        code = _INTERRUPTED
    finally:
        signal.signal(signal.SIGINT, _end_now)
    _end_with(code)
    return code


def _end_with(code: int) -> None:
    """Without the time that Python takes to remove each object: a fifth of a short command, in
    which ctrl-C would end the process by the signal. With other threads, and where the output
    cannot be written, Python ends it as always."""
    if threading.active_count() > 1 and code != _INTERRUPTED:
        return
    atexit._run_exitfuncs()
    with contextlib.suppress(OSError):
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


if __name__ == "__main__":
    sys.exit(main())
