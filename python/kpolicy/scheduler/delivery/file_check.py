"""Checks policies of files before the first request, so that a mistake in them is named even if no
API server answers.

Only a mistake that nothing in the cluster can mend counts: not a policy that takes params from
ConfigMaps, nor one that has errors under some releases of Kubernetes only.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from kpolicy.diagnostics import Diagnostic
from kpolicy.policy.assembly.params import wanted_config_maps
from kpolicy.policy.compile import Compiled
from kpolicy.release_table import RELEASES
from kpolicy.scheduler.delivery.sources import FileSource
from kpolicy.scheduler.loop.reload import invalid
from kpolicy.scheduler.problem_codes import Problem


async def mistake_in(
    files: FileSource, compile_with: Callable[..., Compiled]
) -> tuple[Problem, tuple[Diagnostic, ...]] | None:
    """Why the policies cannot be put in force, with the findings of the compiler."""
    sources = await files.read()
    if isinstance(sources, Problem):
        return sources, ()
    if await asyncio.to_thread(wanted_config_maps, sources):
        return None
    diagnostics: tuple[Diagnostic, ...] = ()
    for release in RELEASES:
        compiled = await asyncio.to_thread(compile_with, sources, cluster_version=release)
        if compiled.program is not None:
            return None
        diagnostics = compiled.diagnostics
    return invalid(diagnostics), diagnostics
