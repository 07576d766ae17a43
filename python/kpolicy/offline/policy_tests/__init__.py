"""Tests of policies: `PolicyTest` documents read, run against the engine, and compared.

Results are values. Nothing here knows how they are shown, nor the command line.
"""
