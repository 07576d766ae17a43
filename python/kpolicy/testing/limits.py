"""Every limit of the embedded control plane, with the reason for its size. Times end in their
unit."""

from __future__ import annotations

from typing import Final

KIB: Final = 1024
MIB: Final = 1024 * KIB

# --- HTTP ----------------------------------------------------------------------------------------
HEADER_BYTES_MAX: Final = 64 * KIB
HEADERS_MAX: Final = 100
BODY_BYTES_MAX: Final = 3 * MIB  # the API server's own limit for a request
STOP_S: Final = 1.0  # how long handlers may take to end once their connections are cut
CONNECTIONS_MAX: Final = 4096
BACKLOG_CONNECTIONS_MAX: Final = 1024

# --- store ---------------------------------------------------------------------------------------
# Changes kept per resource, for watches that resume: about 60 MB of pods, or some seconds of a demo
# that binds 1,000 pods/s. A client that resumes later gets a 410 and lists again.
HISTORY_CHANGES_MAX: Final = 16_384
GENERATED_NAME_TRIES_MAX: Final = 8  # as the API server
GENERATED_PREFIX_CHARACTERS_MAX: Final = 58  # 63 less the 5 random characters
NAME_CHARACTERS_MAX: Final = 253
NESTING_MAX: Final = 64  # no object of these kinds is deeper; bounds recursion in patches
JSON_PATCH_OPERATIONS_MAX: Final = 10_000  # as the API server

# --- watch ---------------------------------------------------------------------------------------
WATCH_TIMEOUT_S: Final = 1800.0  # the shortest that the API server chooses when a client names none
WATCH_TIMEOUT_S_MAX: Final = 86_400.0
BOOKMARK_PERIOD_S: Final = 60.0
BOOKMARK_BEFORE_END_S: Final = 2.0
# The bytes that a slow client may leave unread before its watch is ended, as the API server does.
WATCH_BUFFER_BYTES_MAX: Final = 64 * MIB

# --- list ----------------------------------------------------------------------------------------
LIST_LIMIT_MAX: Final = 1_000_000
CONTINUE_CHARACTERS_MAX: Final = 4096
SELECTOR_CHARACTERS_MAX: Final = 16 * KIB

# --- audit, events -------------------------------------------------------------------------------
AUDIT_ENTRIES_MAX: Final = 200_000  # the oldest are dropped first
EVENT_NOTE_BYTES_MAX: Final = 1024
EVENT_WORD_BYTES_MAX: Final = 128
# Events live for an hour in a real cluster. Here the oldest are dropped beyond this number.
EVENTS_MAX: Final = 50_000

# --- kubelet -------------------------------------------------------------------------------------
KUBELET_STEPS_MAX: Final = (
    1_000_000  # steps that are planned and not yet due; one or two for each bound pod
)
KUBELET_STEPS_AT_ONCE: Final = 200  # before requests are served again
