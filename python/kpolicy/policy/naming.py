"""Messages and reasons in the form that events and metrics want.

Owns that form. Assumes text of any kind. Must not know rules.
"""

from __future__ import annotations


def one_line(message: str) -> str:
    """Events show one line."""
    return " ".join(message.split())


def camel_case(name: str) -> str:
    """`no-spot-for-critical` → `NoSpotForCritical`, for a rule that gives no reason of its own."""
    words = "".join(c if c.isalnum() else " " for c in name).split()
    return "".join(word[:1].upper() + word[1:] for word in words) or "Rejected"
