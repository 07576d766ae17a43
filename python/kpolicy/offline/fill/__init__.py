"""Fills an empty cluster with the pods of a trace, and measures what of its GPUs is used.

`run_fill` is one run: it gives the same result for the same arguments, in any process.
"""

from kpolicy.offline.fill.recipe import Recipe as Recipe
from kpolicy.offline.fill.run import Filled as Filled, run_fill as run_fill
from kpolicy.offline.fill.trace import (
    Trace as Trace,
    TraceNode as TraceNode,
    TracePod as TracePod,
)
