"""Benchmarks for people who work on kpolicy: `python -m benches`.

Owns the driver and the matrix of workloads (data files). What is measured, and how, is
`kpolicy.offline.bench`. Must not be needed at run time.
"""
