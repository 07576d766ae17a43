"""Benchmarks for people who work on kpolicy: `python -m benches`. The code that measures workloads
is `kpolicy.offline.bench`; here are the sizes, the workloads (data files) and the tables.
"""
