"""Every bound of `offline/`, with the reason for its size (B10)."""

from __future__ import annotations

from typing import Final

# --- files of a snapshot -------------------------------------------------------------------------
# Enough for one file for each object of a small cluster. A folder with more files is probably not a
# snapshot.
FILES_MAX: Final = 10_000
# The size of unpacked files: 150,000 pods, as `kubectl get -o json` prints them, take about one
# gigabyte.
FILE_BYTES_MAX: Final = 4 << 30
# Bytes read or unpacked at once.
CHUNK_BYTES: Final = 1 << 20
# libyaml reads about ten megabytes a second. Larger files should be exported as JSON.
YAML_BYTES_MAX: Final = 256 << 20
# API objects are not nested deeper than this, except by attack or mistake.
YAML_NESTING_MAX: Final = 200
# How many nodes aliases may add to a document, so that a short file cannot become a huge one.
YAML_ALIASED_NODES_MAX: Final = 1_000_000
# The depth of lists in lists, which is also the limit of the engine's reader.
LIST_NESTING_MAX: Final = 4

# --- looking at objects in Python ----------------------------------------------------------------
# Up to this size, explain and simulate also look for objects that occur twice, which takes about a
# second. For larger snapshots, `kpolicy snapshot info` does this.
SURVEY_BYTES_MAX: Final = 16 << 20
# How many problems are shown; the others are counted.
PROBLEMS_SHOWN_MAX: Final = 20
# How many names are compared for "did you mean": more would take seconds.
NAMES_COMPARED_MAX: Final = 20_000

# --- cross-checks --------------------------------------------------------------------------------
# Nodes on which cel-python evaluates a rule for each pod of a test, at some milliseconds each.
CROSS_CHECKED_NODES_MAX: Final = 16

# --- asking the engine ---------------------------------------------------------------------------
# Lines about nodes in one answer of explain, each about 300 bytes. The C library keeps buffers of
# this size for the next answer; larger ones are new pages each time.
EXPLAINED_NODES_MAX: Final = 50_000
# Pods decided in one call of simulate and bench: as many as the scheduler decides at once.
BATCH_PODS: Final = 256
# Pods on nodes about which `diff` decides again in one call: alike ones in a row, so that many
# pods are few different ones. At 5,000 nodes this takes about a second.
AGAIN_PODS: Final = 10_000
# Differences of which `diff` asks for reasons: each takes two explanations of all nodes.
REASONS_MAX: Final = 100
# Pods that the new policy of a plan puts elsewhere than the old one, after which it is no longer
# asked for ties with the old one's nodes: by then most pods see another cluster.
STRAYED_MAX: Final = 512
# The size of a file with the values of a column: a million nodes.
COLUMN_BYTES_MAX: Final = 64 << 20

# --- replaying a journal -------------------------------------------------------------------------
# Pieces of a journal, of about a megabyte, that are unpacked and decoded before their turn, and how
# many threads do so. One engine takes them, so that more threads would wait for it.
PIECES_AHEAD: Final = 4
READING_THREADS: Final = 2
# Reading makes many objects and no cycles of them, so that Python seldom needs to look for garbage:
# this many objects come between two searches.
OBJECTS_A_COLLECTION: Final = 100_000
# Differences that are kept with their pods; further ones are counted.
DIFFERENCES_KEPT_MAX: Final = 10_000

# --- simulated days and sweeps -------------------------------------------------------------------
# Nodes of one group of a scenario. Each is an object that Python makes.
DAYS_NODES_MAX: Final = 100_000
# Ten years; nanoseconds since 1970 in 64 bits reach to 2262.
DAYS_NS_MAX: Final = 10 * 366 * 86_400 * 1_000_000_000
# Pods of one kind in an hour.
RATE_MAX: Final = 10_000_000
# Pods that come in all: each takes about half a kilobyte while it is there.
ARRIVALS_MAX: Final = 10_000_000
# Rows of a trace, which are kept: about 200 bytes each.
TRACE_ROWS_MAX: Final = 5_000_000
# Samples of one simulation, each a row of the CSV file.
SAMPLES_MAX: Final = 1_000_000
SAMPLES_DEFAULT: Final = 200
# Kinds of requests that fragmentation is measured with: the most frequent ones.
FRAGMENT_SHAPES_MAX: Final = 20
# Messages about objects that could not be read; the others are counted.
UNREADABLE_KEPT_MAX: Final = 20
# How often a cell of a sweep is begun again whose worker was killed: a cell that takes too much
# memory kills each one.
CELL_TRIES_MAX: Final = 3
# Cells of one sweep.
CELLS_MAX: Final = 100_000
# Cells that a Ray cluster is given ahead.
RAY_CELLS_AHEAD_MAX: Final = 1_000
# How long the address of a Ray cluster may take to answer.
RAY_CONNECT_S: Final = 10.0

# --- benchmarks ----------------------------------------------------------------------------------
# The largest cluster that kpolicy is designed for. The engine numbers nodes and pods with 32 bits.
BENCH_NODES_MAX: Final = 1_000_000
BENCH_PODS_MAX: Final = 2_000_000
# Objects made and read at once: a few megabytes.
BENCH_OBJECTS_AT_ONCE: Final = 5_000

# --- pages ---------------------------------------------------------------------------------------
# A page is read by a browser at once, and is mailed: at 5,000 nodes these keep one of 20 pods below
# three megabytes. What is left out is said in the page.
# Nodes that a map shows one by one; of more, it shows racks.
PAGE_NODES_MAX: Final = 20_000
# Pods that have a section of their own, and a view of the map.
PAGE_PODS_MAX: Final = 20
# Rows of a map of cells: kinds of nodes that differ in what rules make of them.
PAGE_KINDS_MAX: Final = 200
# Nodes with bars.
PAGE_BARS_MAX: Final = 20
# Series of bars on top of each other; more cannot be told apart.
PAGE_SERIES_MAX: Final = 12
# Streams of a chart of moves.
PAGE_MOVES_MAX: Final = 40
# Points of a line, more than a screen has columns.
PAGE_POINTS_MAX: Final = 2_000
# Rows of a table.
PAGE_ROWS_MAX: Final = 20_000
# Names that one cell or tooltip lists.
PAGE_NAMES_MAX: Final = 10
# Resources that a map can show.
PAGE_RESOURCES_MAX: Final = 8

# --- tests of policies ---------------------------------------------------------------------------
# Tests of one document, whose file has at most one MiB.
TESTS_MAX: Final = 10_000
# The highest `count` of one entry of `running`.
PODS_MAX: Final = 10_000
# Objects that one test may list. For a larger cluster, use a snapshot.
OBJECTS_MAX: Final = 50_000
# Steps of one sequence.
STEPS_MAX: Final = 1_000
# How many `from` may follow each other.
FIXTURE_DEPTH_MAX: Final = 8
# The highest value of `--jobs`.
JOBS_MAX: Final = 256
# Tests that one process runs at a time, so that its start is worth the time.
TESTS_A_JOB_MIN: Final = 50
# Characters of a piece of an expression that a report quotes.
QUOTED_CHARACTERS_MAX: Final = 60
# Pods of a group or a namespace on which advice is made, pods alike counted once; each takes about
# a tenth of a second with 5,000 nodes.
ADVISED_SHAPES_MAX: Final = 50
# How many pods a replay names for each broken `never`.
PODS_NAMED_MAX: Final = 10
# The pause between two checks of the files of `--watch`.
WATCH_SECONDS: Final = 0.5
