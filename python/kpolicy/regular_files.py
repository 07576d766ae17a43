"""Reads the files that settings and policies name: regular files only, up to a size.

Devices, pipes and sockets may block a reader for ever, and opening one may have effects. The
event loop reads files through `off_loop`, because a disk or a network volume may hang.
"""

from __future__ import annotations

import asyncio
import errno
import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Final, ParamSpec, TypeVar

# A file that takes longer is on a volume that hangs.
READ_S_MAX: Final = 5.0

Arguments = ParamSpec("Arguments")
Answer = TypeVar("Answer")


def read_file(path: Path, bytes_max: int) -> bytes:
    """Read up to one byte more than `bytes_max`, so that the caller sees if the file is larger.
    Raises OSError, whose `strerror` is fit for a message."""
    _check(path, path.stat().st_mode)
    # Should the file be replaced meanwhile, opening a pipe does not block.
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)
    with os.fdopen(descriptor, "rb") as file:
        _check(path, os.fstat(descriptor).st_mode)
        return file.read(bytes_max + 1)


async def off_loop(
    function: Callable[Arguments, Answer], *arguments: Arguments.args, **options: Arguments.kwargs
) -> Answer:
    """Call a function that reads files, in another thread. Raises OSError (TimeoutError) if that
    takes too long."""
    try:
        async with asyncio.timeout(READ_S_MAX):
            return await asyncio.to_thread(function, *arguments, **options)
    except TimeoutError:
        raise TimeoutError(errno.ETIMEDOUT, f"not read within {READ_S_MAX:g} s") from None


def _check(path: Path, mode: int) -> None:
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, "a folder, not a file", str(path))
    if not stat.S_ISREG(mode):
        raise OSError(errno.EINVAL, "not a regular file", str(path))
