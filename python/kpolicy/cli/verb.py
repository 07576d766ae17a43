"""The one way in which a verb says that it could not do its work.

Owns `CannotWorkError`. Assumes that the frame catches it. Must not know any verb.
"""

from __future__ import annotations


class CannotWorkError(Exception):
    """Bad flags, unreadable input: the message is for the user, and the exit code is 2."""
