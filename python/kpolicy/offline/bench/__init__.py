"""Benchmarks: generated clusters, and how fast the engine decides on them."""
