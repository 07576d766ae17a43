"""Texts of plugins, as conditions, events and the log show them."""

from __future__ import annotations

from kpolicy.plugins.limits import MESSAGE_CHARACTERS_MAX


def one_line(message: object) -> str:
    """Events show a single line."""
    return " ".join(str(message).split())[:MESSAGE_CHARACTERS_MAX]


def duration(seconds: float) -> str:
    """As Go writes durations: 2s, 1m30s, 500ms, 1h0m0s."""
    if seconds < 1:
        return f"{seconds * 1000:g}ms" if seconds else "0s"
    hours, rest = divmod(seconds, 3600)
    minutes, rest = divmod(rest, 60)
    text = f"{rest:g}s"
    if minutes or hours:
        text = f"{minutes:.0f}m{text}"
    return f"{hours:.0f}h{text}" if hours else text
