"""Tests of policies: `PolicyTest` documents read, run against the engine, and compared.

Owns the documents (`model`, `documents`), worlds in a few words (`world`), what the engine says of
them (`observe`), the comparison (`matching`, `expectations`) and coverage. Results are values. Must
not know how they are shown, nor the command line.
"""
