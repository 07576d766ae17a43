"""Policy arguments: a file, a folder, `-`, or the name of a policy that is shipped, as sources.

Owns reading them. Assumes paths given by the user. Must not know what is in the files.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Final

from kpolicy.cli.failure import CannotWorkError
from kpolicy.policy.library import shipped_names, shipped_source
from kpolicy.policy.limits import DOCUMENT_BYTES_MAX
from kpolicy.policy.yaml.source import Source

_SUFFIXES: Final = (".yaml", ".yml", ".json", ".cfg")
# A folder with more policy files than this is not a folder of policies.
FILES_MAX: Final = 2_000


def policy_sources(argument: str) -> list[Source]:
    """The sources of one policy argument, in the order of names."""
    if argument == "-":
        return [Source("<stdin>", sys.stdin.buffer.read(DOCUMENT_BYTES_MAX + 1))]
    path = Path(argument)
    if not path.exists() and argument in shipped_names():
        return [shipped_source(argument)]
    if path.is_dir():
        return [Source(str(file), _read(file), is_named=False) for file in _files(path)]
    return [Source(argument, _read(path))]


def _files(folder: Path) -> list[Path]:
    """Names that begin with a dot are a volume's own (`..data`), or hidden."""
    found = sorted(
        path
        for path in folder.rglob("*")
        if path.suffix in _SUFFIXES
        and not any(part.startswith(".") for part in path.relative_to(folder).parts)
        and path.is_file()
    )
    if not found:
        raise CannotWorkError(f"there is no policy file in {folder}")
    if len(found) > FILES_MAX:
        raise CannotWorkError(f"{folder} has more than {FILES_MAX:,} policy files")
    return found


def _read(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(DOCUMENT_BYTES_MAX + 1)
    except OSError as error:
        raise CannotWorkError(f"{path} cannot be read: {error.strerror}") from error
