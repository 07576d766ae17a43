"""Releases of kube-scheduler, as policies name them.

Owns which release a text means, and where they disagreed on how nodes score. Assumes text. Must not
know what a policy asks for.
"""

from __future__ import annotations

from typing import Final

# Up to here a rule gave a node 0 to 10, since then 0 to 100.
SCORES_TO_TEN_MINOR_LAST: Final = 16


def minor_of(release: str) -> int | None:
    """`1.9`, `v1.9.3` → 9; None where no release is meant."""
    parts = release.removeprefix("v").split(".")
    return int(parts[1]) if len(parts) > 1 and parts[1].isdigit() else None
