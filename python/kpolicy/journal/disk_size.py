"""Sizes as users write them, such as `10Gi`."""

from __future__ import annotations

import re
from typing import Final

_SIZE: Final = r"([1-9][0-9]{0,15})(Ki|Mi|Gi|Ti)?"
_UNITS: Final = {None: 1, "Ki": 1 << 10, "Mi": 1 << 20, "Gi": 1 << 30, "Ti": 1 << 40}


def bytes_of(written: str) -> int:
    """Raises `ValueError` if it is no size."""
    found = re.fullmatch(_SIZE, written)
    if found is None:
        raise ValueError(f"`{written}` is no size; write it as 500Mi or 10Gi")
    return int(found[1]) * _UNITS[found[2]]
