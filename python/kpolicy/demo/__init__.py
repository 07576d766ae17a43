"""The demo: the real scheduler on an embedded control plane, from start to summary.

Owns the story that `kpolicy demo` tells. Assumes the shipped demo policies. Must not know how pods
are decided: it watches from outside, through the API and the scheduler's public surface.
"""
