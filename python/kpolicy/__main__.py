"""The command line: `python -m kpolicy`, and what the installed command runs.

Until the modules are loaded, and after the verb has ended, ctrl-C ends the process at once. In
between, `kpolicy.cli.interrupts` says what it does.
"""

from __future__ import annotations

# No more than a handler needs: until it is set, ctrl-C prints a traceback.
import os
import signal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import FrameType

_INTERRUPTED = 130
# Loading modules makes many objects and no garbage: collecting less often saves a fifth of the
# time of a short command. `kpolicy run` sets its own pace.
_OBJECTS_A_COLLECTION = 100_000


def _end_now(_number: int, _frame: FrameType | None) -> None:
    os._exit(_INTERRUPTED)


def main() -> int:
    """The exit code of the process."""
    is_watched = _is_watched()
    # Loaded while ctrl-C is safe.
    import gc  # noqa: PLC0415
    import sys  # noqa: PLC0415

    gc.set_threshold(_OBJECTS_A_COLLECTION)
    from kpolicy.quick_imports import skip_unused_imports  # noqa: PLC0415

    skip_unused_imports()
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


def _is_watched() -> bool:
    """Whether ctrl-C ends the process at once from here on. A shell that starts a command in the
    background has SIGINT ignored; that stays."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        return False
    try:
        signal.signal(signal.SIGINT, _end_now)
    except ValueError:  # not the main thread
        return False
    return True


def _end_with(code: int) -> None:
    """Without the time that Python takes to remove each object: a fifth of a short command, in
    which ctrl-C would end the process by the signal. With other threads, and where the output
    cannot be written, Python ends it as always."""
    import atexit  # noqa: PLC0415
    import contextlib  # noqa: PLC0415
    import sys  # noqa: PLC0415
    import threading  # noqa: PLC0415

    if threading.active_count() > 1 and code != _INTERRUPTED:
        return
    atexit._run_exitfuncs()
    with contextlib.suppress(OSError):
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


if __name__ == "__main__":
    raise SystemExit(main())
