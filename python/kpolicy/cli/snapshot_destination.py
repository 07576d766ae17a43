"""Where a written snapshot goes: a file, or standard output as `-`.

Owns the flag and what is said when it cannot be written. Must not know what is written.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, Final

from kpolicy.cli.failure import CannotWorkError

STDOUT: Final = "-"


def add_destination_flag(
    parser: argparse.ArgumentParser, more: str, *, required: bool = False
) -> None:
    parser.add_argument(
        "--output",
        "-o",
        metavar="FILE",
        required=required,
        help=f"where to, - for standard output; readable by its owner alone ({more})",
    )


def refuse_terminal(destination: str) -> None:
    if destination == STDOUT and sys.stdout.isatty():
        raise CannotWorkError("a snapshot is not for a terminal; `-o FILE`, or a pipe")


@contextmanager
def written(destination: str) -> Iterator[tuple[BinaryIO, Path | None]]:
    """The stream, and the folder for what is kept on the way, which may be large: the file's."""
    from kpolicy.offline.recording.destination import replacing

    try:
        if destination == STDOUT:
            yield sys.stdout.buffer, None
            sys.stdout.buffer.flush()
            return
        path = Path(destination)
        with replacing(path) as stream:
            yield stream, path.absolute().parent
    except BrokenPipeError:
        raise
    except OSError as error:
        raise CannotWorkError(
            f"{destination} cannot be written: {error.strerror or error}"
        ) from error
