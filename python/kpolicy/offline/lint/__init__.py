"""Lint against a recorded cluster: what the texts alone cannot tell.

`lint` is the whole interface. Names come from the snapshot's objects, verdicts and scores from the
engine, as always.
"""

from kpolicy.offline.lint.against import lint

__all__ = ["lint"]
