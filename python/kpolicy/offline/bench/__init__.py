"""Benchmarks: worlds made up by rule, and how fast the engine decides on them.

Owns the workloads, their worlds as bytes and the measuring. Assumes an engine and a program. Must
not know who prints the figures.
"""
