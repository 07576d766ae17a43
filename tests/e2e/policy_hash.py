"""The hash of a policy's text, as binds carry it.

This is the only use of kpolicy's compiler in these tests. I11 needs to know which policies a run
was offered, and binds name them only by the hash.
"""

from __future__ import annotations

from functools import lru_cache

from kpolicy.policy.compile import compile_policy
from kpolicy.policy.yaml.source import Source


@lru_cache(maxsize=64)
def policy_hash(text: str) -> str:
    """The hash of a policy; empty if it does not compile."""
    program = compile_policy([Source("policy.yaml", text)]).program
    return program.hash if program is not None else ""
