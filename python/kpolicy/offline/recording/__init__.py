"""Recorded snapshots: the file format `.kpsnap` (docs/internals/snapshot-file.md).

Owns the bytes of the file: written in one way only, checked whole before anything of it is used.
Assumes objects as an API server gives them. Must not know a cluster, the engine or the clock.
"""
