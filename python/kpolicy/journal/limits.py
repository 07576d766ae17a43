"""Every bound of `journal/`, with the reason for its size (B10)."""

from __future__ import annotations

from typing import Final

# --- what waits to be written --------------------------------------------------------------------
# Calls and bytes that may wait for the thread that writes. Beyond either, the journal has a gap:
# scheduling never waits for it.
BACKLOG_CALLS_MAX: Final = 8192
BACKLOG_BYTES_MAX: Final = 256 << 20
# How often that thread looks: a twentieth of the time in which the backlog could become full.
LOOK_S: Final = 0.1

# --- files ---------------------------------------------------------------------------------------
# Records are packed together up to this size, or after this time: larger pieces pack better, and
# what has not been packed is lost with the process.
CHUNK_BYTES: Final = 1 << 20
CHUNK_S: Final = 1.0
# The memory of a piece is kept for the next one up to this size: records go beyond `CHUNK_BYTES` by
# one read from a socket, or by one page of a list.
PIECE_MEMORY_BYTES_MAX: Final = 4 << 20
# A power failure loses at most the records of this time. Each sync may keep the disk busy for some
# milliseconds.
SYNC_S: Final = 5.0
# The fastest level packs watch events to about a tenth; higher ones take much more time.
PACK_LEVEL: Final = 1
# How large a journal may become, if nobody says so, and at least: some segments.
DISK_BYTES: Final = 1 << 30
DISK_BYTES_MIN: Final = 1 << 20
# The bound of the disk is this many segments: so much of it is given up at once.
SEGMENTS: Final = 16
SEGMENT_BYTES_MAX: Final = 64 << 20
# After this part of the disk, the journal begins again with all objects, so that what came before
# can be deleted.
EPOCH_SHARE: Final = 2

# --- beginning again -----------------------------------------------------------------------------
# New lists are dear for the API server. After a gap, they are asked for at the earliest then.
ANEW_S: Final = 60.0

# --- reading -------------------------------------------------------------------------------------
# A page of a list is one record. Its size is bounded by what a client reads of an answer; a header
# that says more is damage.
CHUNK_UNPACKED_BYTES_MAX: Final = 1 << 30
SEGMENTS_MAX: Final = 100_000
