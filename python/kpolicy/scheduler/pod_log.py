"""Lines of the log from where a pod is tried, by code that is not told which pod it is.

Owns the try that the running task is about: set once, where its task begins, and seen by all that
it calls. Assumes a task a try. Long-lived tasks must not be begun from within one and log by this.
"""

from __future__ import annotations

import logging
from collections.abc import MutableMapping
from contextvars import ContextVar
from typing import Any, Final

from kpolicy.scheduler.pod_try import PodTry

_ABOUT: Final[ContextVar[PodTry | None]] = ContextVar("_ABOUT", default=None)


def about(pod_try: PodTry) -> None:
    """From here on this task, and those that it begins, are about this try."""
    _ABOUT.set(pod_try)


class PodLog(logging.LoggerAdapter[logging.Logger]):
    """A logger whose lines carry what is known of the try."""

    def __init__(self, name: str) -> None:
        super().__init__(logging.getLogger(name))

    def process(
        self, msg: Any, kwargs: MutableMapping[str, Any]
    ) -> tuple[Any, MutableMapping[str, Any]]:
        pod_try = _ABOUT.get()
        if pod_try is not None:
            kwargs["extra"] = {**pod_try.fields(), **(kwargs.get("extra") or {})}
        return msg, kwargs
