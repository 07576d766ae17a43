"""Every bound of tests of policies, with the reason for its size (B10).

Owns numbers only. Must not know who obeys them.
"""

from __future__ import annotations

from typing import Final

# Tests of one document: a file holds at most a mebibyte.
TESTS_MAX: Final = 10_000
# Pods that one entry of `running` stands for.
PODS_MAX: Final = 10_000
# Objects that are written out for one test; a larger world is a snapshot.
OBJECTS_MAX: Final = 50_000
# Steps of one sequence.
STEPS_MAX: Final = 1_000
# `from` of `from`.
FIXTURE_DEPTH_MAX: Final = 8
# Processes of `-j`: beyond the processors of any machine, a mistake.
JOBS_MAX: Final = 256
# Tests that one process takes at a time: starting it must be worth it.
TESTS_A_JOB_MIN: Final = 50
# Characters of a piece of an expression that a report quotes.
QUOTED_CHARACTERS_MAX: Final = 60
# Pods that a replay names of those that must never be placed so.
PODS_NAMED_MAX: Final = 10
# Between two looks at the files that `--watch` watches.
WATCH_SECONDS: Final = 0.5
