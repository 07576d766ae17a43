"""Plugins in Python: code of one's own at the extension points of the scheduler.

A public package: `docs/guides/plugins.md` shows how a plugin is written and loaded.
"""

from __future__ import annotations

from kpolicy.plugins.handle import ApiAnswer, Handle
from kpolicy.plugins.pods import Pod
from kpolicy.plugins.points import (
    Bind,
    Permit,
    PostBind,
    PreBind,
    PreEnqueue,
    QueueSort,
    Refuse,
    Reserve,
    SortKey,
    Wait,
)
from kpolicy.plugins.waiting import WaitingPod

__all__ = [
    "ApiAnswer",
    "Bind",
    "Handle",
    "Permit",
    "Pod",
    "PostBind",
    "PreBind",
    "PreEnqueue",
    "QueueSort",
    "Refuse",
    "Reserve",
    "SortKey",
    "Wait",
    "WaitingPod",
]
