"""Every bound of the embedded control plane, named, with the reason for its size.

Owns numbers only; times end in their unit. Nothing in this package buffers, remembers or reads
without one of these (boundary B10).
"""

from __future__ import annotations

from typing import Final

KIB: Final = 1024
MIB: Final = 1024 * KIB

# --- HTTP ----------------------------------------------------------------------------------------
HEADER_BYTES_MAX: Final = 64 * KIB
HEADERS_MAX: Final = 100
BODY_BYTES_MAX: Final = 3 * MIB  # the API server's own limit for a request
STOP_S: Final = 1.0  # for handlers to end once their connections are cut
CONNECTIONS_MAX: Final = 4096
BACKLOG_CONNECTIONS_MAX: Final = 1024

# --- store ---------------------------------------------------------------------------------------
# Changes kept per resource for watches that resume: some 60 MB of pods, and seconds of a demo that
# binds 1,000 pods/s. Who comes later is told 410 and lists again.
HISTORY_CHANGES_MAX: Final = 16_384
GENERATED_NAME_TRIES_MAX: Final = 8  # as the API server
GENERATED_PREFIX_CHARACTERS_MAX: Final = 58  # 63 less the 5 random characters
NAME_CHARACTERS_MAX: Final = 253
NESTING_MAX: Final = 64  # no object of these kinds is deeper; bounds recursion in patches
JSON_PATCH_OPERATIONS_MAX: Final = 10_000  # as the API server

# --- watch ---------------------------------------------------------------------------------------
WATCH_TIMEOUT_S: Final = 1800.0  # the API server's least when a client names none
WATCH_TIMEOUT_S_MAX: Final = 86_400.0
BOOKMARK_PERIOD_S: Final = 60.0
BOOKMARK_BEFORE_END_S: Final = 2.0
# What a slow watcher may leave unread before it is cut off, as the API server cuts it off.
WATCH_BUFFER_BYTES_MAX: Final = 64 * MIB

# --- list ----------------------------------------------------------------------------------------
LIST_LIMIT_MAX: Final = 1_000_000
CONTINUE_CHARACTERS_MAX: Final = 4096
SELECTOR_CHARACTERS_MAX: Final = 16 * KIB

# --- audit, events -------------------------------------------------------------------------------
AUDIT_ENTRIES_MAX: Final = 200_000  # oldest go first
EVENT_NOTE_BYTES_MAX: Final = 1024
EVENT_WORD_BYTES_MAX: Final = 128
# Events live an hour in a real cluster; here the oldest go when there are more than this.
EVENTS_MAX: Final = 50_000

# --- kubelet -------------------------------------------------------------------------------------
KUBELET_STEPS_MAX: Final = 1_000_000  # steps planned and not yet due; one or two a bound pod
KUBELET_STEPS_AT_ONCE: Final = 200  # then requests get their turn
