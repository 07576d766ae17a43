"""Files of policies and of their tests: finds them in folders and reads them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from kpolicy.policy.limits import DOCUMENT_BYTES_MAX
from kpolicy.policy.yaml.source import Source

POLICY_SUFFIXES: Final = (".yaml", ".yml", ".json", ".cfg")


def files_in(folder: Path, suffixes: Sequence[str]) -> list[Path]:
    """The files with these suffixes, in the order of names. Skips names that begin with a dot: they
    are hidden, or a volume's own (`..data`)."""
    return sorted(
        path
        for path in folder.rglob("*")
        if path.name.endswith(tuple(suffixes))
        and not any(part.startswith(".") for part in path.relative_to(folder).parts)
        and path.is_file()
    )


def read_source(path: str | Path, *, is_named: bool = True) -> Source:
    """One byte more than a document may have is read, so that a longer one is noticed."""
    with Path(path).open("rb") as file:
        return Source(str(path), file.read(DOCUMENT_BYTES_MAX + 1), is_named=is_named)
