"""kpolicy: a policy-driven scheduler for Kubernetes.

Owns the public names, which are loaded when they are first used, so that the command line starts
quickly. Assumes nothing. Computes nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from kpolicy.diagnostics import Diagnostic, Place, Severity, Span
from kpolicy.version import VERSION

if TYPE_CHECKING:
    from kpolicy.policy.compile import Compiled, compile_policy
    from kpolicy.policy.program import Program
    from kpolicy.policy.source import Source

__version__ = VERSION

_LAZY: Final = {
    "Compiled": "kpolicy.policy.compile",
    "Program": "kpolicy.policy.program",
    "Source": "kpolicy.policy.source",
    "compile_policy": "kpolicy.policy.compile",
}

__all__ = [
    "Compiled",
    "Diagnostic",
    "Place",
    "Program",
    "Severity",
    "Source",
    "Span",
    "__version__",
    "compile_policy",
]


def __getattr__(name: str) -> Any:
    module = _LAZY.get(name)
    if module is None:
        raise AttributeError(f"module 'kpolicy' has no attribute '{name}'")
    return getattr(import_module(module), name)
