"""Errors for the person who runs the harness: one line that says what went wrong and what to do."""

from __future__ import annotations


class ControlPlaneError(RuntimeError):
    """The control plane could not be built, started or reached; the message says what to do."""


class ModulesUnavailableError(ControlPlaneError):
    """The Go modules cannot be fetched from here; another source may still do."""


class PortTakenError(ControlPlaneError):
    """Another process took the port before the component could listen on it."""
