"""Offline: what the engine makes of a recorded cluster, without one.

Owns snapshots, read from files and written, what is asked of them (`explain`, `simulate`), their
figures (`survey`) and benchmarks on made-up worlds. Same engine and same program as online (B8).
Must not know the scheduler's loop or an API server; `recorder/` does.
"""
