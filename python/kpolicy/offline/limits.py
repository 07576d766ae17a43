"""Every bound of `offline/`, with the reason for its size (B10)."""

from __future__ import annotations

from typing import Final

# --- files of a snapshot -------------------------------------------------------------------------
# A dump of one file per object of a small cluster; more is not a folder of snapshots.
FILES_MAX: Final = 10_000
# 150,000 pods as `kubectl get -o json` prints them take about one gigabyte; unpacked, not more.
FILE_BYTES_MAX: Final = 4 << 30
# Bytes read or unpacked at once.
CHUNK_BYTES: Final = 1 << 20
# libyaml reads about ten megabytes a second; what is larger should be exported as JSON.
YAML_BYTES_MAX: Final = 256 << 20
# No API object nests deeper than a schema of a schema; beyond this it is an attack or a mistake.
YAML_NESTING_MAX: Final = 200
# Nodes that aliases may add to what is written: anchors are for the repeated line, not for bombs.
YAML_ALIASED_NODES_MAX: Final = 1_000_000
# Lists inside lists, as the engine's reader has it.
LIST_NESTING_MAX: Final = 4

# --- looking at objects in Python ----------------------------------------------------------------
# Up to this size explain and simulate also look for objects that are there twice, which takes about
# a second; beyond, `kpolicy snapshot info` does.
SURVEY_BYTES_MAX: Final = 16 << 20
# Problems shown; the rest is a count.
PROBLEMS_SHOWN_MAX: Final = 20
# Names compared for a did-you-mean: a look at more takes seconds.
NAMES_COMPARED_MAX: Final = 20_000

# --- cross-checks --------------------------------------------------------------------------------
# Nodes on which cel-python evaluates a rule for each pod of a test, at some milliseconds each.
CROSS_CHECKED_NODES_MAX: Final = 16

# --- asking the engine ---------------------------------------------------------------------------
# Lines about nodes in one answer of explain, each about 300 bytes.
EXPLAINED_NODES_MAX: Final = 200_000
# Pods decided in one call of simulate and bench: as many as the scheduler decides at once.
BATCH_PODS: Final = 256
# Differences of which `diff` asks for reasons: each takes two explanations of all nodes.
REASONS_MAX: Final = 200

# --- benchmarks ----------------------------------------------------------------------------------
# Twice the largest size that the design speaks of.
BENCH_NODES_MAX: Final = 200_000
BENCH_PODS_MAX: Final = 2_000_000
# Objects made and read at once: a few megabytes.
BENCH_OBJECTS_AT_ONCE: Final = 5_000


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
