"""A file that is there whole or not at all.

Owns the temporary name beside it, the rename and the rights: a snapshot is for its owner's eyes.
Must not know what is written.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO


@contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """Takes the place of `path` at the end; after an error what was there before still is. What is
    no file (a pipe, /dev/null) is written as it is. Raises `OSError`."""
    if path.exists() and not path.is_file():
        with path.open("wb") as stream:
            yield stream
        return
    # Its rights are the owner's alone from the first moment on.
    descriptor, name = tempfile.mkstemp(".kpsnap.tmp", f".{path.name}.", path.absolute().parent)
    try:
        with os.fdopen(descriptor, "wb") as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
