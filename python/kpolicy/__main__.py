"""The command line: `python -m kpolicy`, and what the installed command runs.

Until the modules are loaded, and after the verb has ended, ctrl-C ends the process at once: in
between, verbs end in order.
"""

from __future__ import annotations

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
    from kpolicy.cli import main as run  # noqa: PLC0415  loaded while ctrl-C is safe

    if not is_watched:
        return run()
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        return run()
    except KeyboardInterrupt:  # between the handlers
        return _INTERRUPTED
    finally:
        signal.signal(signal.SIGINT, _end_now)


if __name__ == "__main__":
    sys.exit(main())
