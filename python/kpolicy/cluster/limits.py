"""Every limit of `cluster/`, with the reason for its size. Times end in their unit.

Nothing in this package waits, retries, queues or reads without one of these (boundary B10).
"""

from __future__ import annotations

from typing import Final

KIB: Final = 1024
MIB: Final = 1024 * KIB

# --- connections ---------------------------------------------------------------------------------
# A watch holds a connection for minutes, and there are about a dozen watches. Each bind, event and
# condition takes a connection while it is sent: HTTP/1.1 allows one request at a time.
CONNECTIONS_MAX: Final = 128
# Shorter than the usual limit of load balancers (60 s), so that we close idle connections and not
# they: the outcome of a request sent into a closing connection is unknown.
KEEPALIVE_S: Final = 30.0
CONNECT_TIMEOUT_S: Final = 10.0
# The API server's own limit for a request that is not a watch is 60 s.
REQUEST_TIMEOUT_S: Final = 60.0
# After credentials changed, requests on old connections may end; watches resume.
RETIRED_SESSION_GRACE_S: Final = 60.0
# Replaced sessions that wait for their requests; older ones are closed at once.
RETIRED_SESSIONS_MAX: Final = 4

# --- bytes read ----------------------------------------------------------------------------------
# Responses to writes and errors: a Status, or the object. etcd refuses more than 1.5 MiB; the JSON
# of that may be longer.
BODY_BYTES_MAX: Final = 4 * MIB
# The buffer that all writes share to read responses; most have a few KiB.
WRITE_READ_BYTES: Final = 32 * KIB
# the largest TLS record (RFC 8446, 5.1)
TLS_RECORD_BYTES_MAX: Final = 16 * KIB
# The head of a response; aiohttp's limit for it is similar.
HEAD_BYTES_MAX: Final = 64 * KIB
# The line before a chunk: its size, and extensions that no server sends.
CHUNK_LINE_BYTES_MAX: Final = 4 * KIB
# A list page: 500 objects of 128 KiB. A larger page is requested again with half the objects.
PAGE_BYTES_MAX: Final = 64 * MIB
# The text of a failure that is kept, logged and shown.
MESSAGE_CHARACTERS_MAX: Final = 2048

# --- list ----------------------------------------------------------------------------------------
LIST_PAGE_OBJECTS: Final = 500  # as client-go's pager
LIST_PAGE_OBJECTS_MIN: Final = 1
# Pages grow up to this when lists take longer than etcd's compaction (5 min).
LIST_PAGE_OBJECTS_MAX: Final = 8000
# With 500 objects a page, five million objects. A list without end is cut off here.
LIST_PAGES_MAX: Final = 10_000
# How often one page is tried before the whole list counts as failed and starts again.
LIST_PAGE_TRIES_MAX: Final = 5
# How often a list older than the known state is refused before it is accepted: then the cluster was
# restored from a backup, and waiting will not bring the lost writes back.
STALE_LISTS_REFUSED_MAX: Final = 5

# --- watch ---------------------------------------------------------------------------------------
# The server ends a watch after a random time, so that the watches of many clients do not all move
# to one API server when another restarts.
WATCH_TIMEOUT_S_MIN: Final = 300
WATCH_TIMEOUT_S_MAX: Final = 600
# Bookmarks come about every 60 s, and the server keeps 75 s of events: after a longer silence the
# connection is dead, and the missed events can still be read.
WATCH_SILENCE_S: Final = 75.0
# A watch that ends sooner without a byte counts as failed. A server that closes watches at once
# would otherwise be asked in a hot loop.
WATCH_SHORT_S: Final = 1.0
# A line is one event. An object can have 1.5 MiB in etcd, and three times that as escaped JSON.
WATCH_LINE_BYTES_MAX: Final = 8 * MIB
# The socket's buffer while the sink works; also about the largest batch of lines.
WATCH_BATCH_BYTES_MAX: Final = 1 * MIB
# Consecutive watches without a byte before a new list.
WATCH_FAILURES_BEFORE_LIST: Final = 5
# Tries after "too large resource version" (a lagging API server) before a list at "".
TOO_LARGE_TRIES_MAX: Final = 3

# An informer that does nothing for so long is dead, whatever the API server does. It waits at most
# 70 s for a page, 75 s in silence, 61 s after Retry-After, and 30 s for an exec plugin.
INFORMER_SILENT_S_MAX: Final = 300.0

# --- back-off of informers (client-go's reflector) -----------------------------------------------
BACKOFF_S_INITIAL: Final = 0.8
BACKOFF_FACTOR: Final = 2.0
BACKOFF_S_MAX: Final = 30.0
BACKOFF_RESET_S: Final = 120.0
# 401 and 403 seldom pass within seconds, and frequent requests only fill the audit log. But an API
# server that starts may refuse for a moment what it grants: the first refusals are retried sooner.
REFUSED_RETRY_S: Final = 30.0
REFUSED_SOON_MAX: Final = 3
# A server that asks for a longer wait than this is asked again anyway.
RETRY_AFTER_S_MAX: Final = 60.0

# A repeated outage is logged at most once in this time.
OUTAGE_LOG_PERIOD_S: Final = 30.0

# --- start ---------------------------------------------------------------------------------------
# An API server that restarts or is overloaded for a moment is back within this. After that the
# process ends, and whoever started it starts it again. The first retry is after 0.8 s, and later
# ones at most so far apart.
START_PATIENCE_S: Final = 30.0
START_RETRY_S_MAX: Final = 3.0

# --- binds ---------------------------------------------------------------------------------------
# The grace of the lease (15 s - 10 s): a bind sent at the end of leadership ends within it.
BIND_TIMEOUT_S: Final = 5.0
# The API server is asked to give up a little earlier, so that its answer arrives in time.
SERVER_TIMEOUT_SHARE: Final = 0.8
BIND_TRIES_MAX: Final = 3
# How often a bind in doubt is sent again; after that its pod is only read.
BIND_SENDS_IN_DOUBT_MAX: Final = 8
# If a server asks for a longer wait than this, the pod is queued again.
BIND_RETRY_AFTER_S_MAX: Final = 5.0
BIND_RETRY_S: Final = 0.2
# Reads of the pod after a bind whose response was lost.
SETTLE_TRIES_MAX: Final = 3
SETTLE_TIMEOUT_S: Final = 2.0

# --- writes in doubt -----------------------------------------------------------------------------
# The API server answered with an error. Its request to etcd may still be written, for as long as
# etcd takes to give up a request (5 s and two elections of 1 s).
ANSWERED_IN_DOUBT_S: Final = 10.0
# No response: the request may lie in a proxy or in the buffer of a stopped server (60 s are common
# limits). When it arrives, the API server may work on it for its own limit of 60 s; then etcd as
# above.
UNANSWERED_IN_DOUBT_S: Final = 130.0

# --- evictions -----------------------------------------------------------------------------------
# As with binds, an eviction sent at the end of leadership ends within the grace of the lease.
EVICT_TIMEOUT_S: Final = 5.0
# Tries of the condition, and of the deletion: 0.2 s, 0.4 s and 0.8 s apart.
EVICT_TRIES_MAX: Final = 4
EVICT_RETRY_S: Final = 0.2
# After a deletion in doubt, its pod is read with growing pauses, and the deletion is sent again at
# most so often.
EVICT_LOOK_S: Final = 1.0
EVICT_LOOK_S_MAX: Final = 10.0
EVICT_SENDS_IN_DOUBT_MAX: Final = 8
# If a server asks for a longer wait than this, the preemption is tried another time.
EVICT_RETRY_AFTER_S_MAX: Final = 5.0

# --- volumes -------------------------------------------------------------------------------------
# Volumes and claims written at the same time; the other connections are left to binds.
VOLUME_WRITES_IN_FLIGHT_MAX: Final = 16
# The volume controller writes the same objects: a conflict or two are common, more are not.
VOLUME_WRITE_TRIES_MAX: Final = 4
VOLUME_WRITE_RETRY_S: Final = 0.2
# How often to look whether drivers have made allocated devices ready, as kube-scheduler does.
CLAIM_LOOK_S: Final = 5.0

# --- events and conditions -----------------------------------------------------------------------
# The API server refuses longer notes; kube-scheduler cuts them to 1,020 bytes and " ...".
EVENT_NOTE_BYTES_MAX: Final = 1024
# Limits of events.k8s.io/v1 for action, reason and reportingInstance.
EVENT_WORD_BYTES_MAX: Final = 128
NAME_BYTES_MAX: Final = 253  # RFC 1123 subdomain
# Binds come first, so the events of a burst wait: none is lost for so many pods.
EVENT_QUEUE_MAX: Final = 32_768
EVENT_WORKERS: Final = 8  # one while the bind window is full
EVENT_SERIES_S: Final = 360.0  # identical events within 6 min form a series, as in client-go
EVENT_SERIES_MAX: Final = 4096  # series remembered, as in client-go's LRU
# The count of a growing series is written at most once in this time.
EVENT_SERIES_WRITE_S: Final = 60.0
# No event is written in a namespace that goes for this long, in case it comes again.
EVENT_ENDING_S: Final = 60.0
EVENT_ENDING_NAMESPACES_MAX: Final = 1024
CONDITION_QUEUE_MAX: Final = 8192
CONDITION_WORKERS: Final = 4
# Pods whose last condition is remembered: more than can be parked in the largest cluster.
CONDITION_CACHE_MAX: Final = 200_000
WRITE_TRIES_MAX: Final = 3
WRITE_TIMEOUT_S: Final = 10.0
WRITE_RETRY_S: Final = 1.0
# An outbox that finishes no item for so long is dead: three tries of 20 s and 60 s of Retry-After
# between them take far less.
OUTBOX_SILENT_S_MAX: Final = 300.0

# --- reviews -------------------------------------------------------------------------------------
# A scrape waits ten seconds by default, and needs two reviews.
REVIEW_TIMEOUT_S: Final = 4.0

# --- credentials ---------------------------------------------------------------------------------
CREDENTIAL_FILE_BYTES_MAX: Final = 1 * MIB
# Projected service account tokens change long before they expire; client-go reads them every
# minute.
TOKEN_FILE_REREAD_S: Final = 60.0
# Exec plugins run again this long before their credential expires.
EXEC_REFRESH_AHEAD_S: Final = 60.0
# The time an exec plugin may take: it may have to ask a cloud's API.
EXEC_TIMEOUT_S: Final = 30.0
EXEC_OUTPUT_BYTES_MAX: Final = 1 * MIB
# A credential that failed or was refused is not fetched again sooner: a plugin is a process.
CREDENTIAL_RETRY_S: Final = 5.0
KUBECONFIG_FILES_MAX: Final = 32

# --- lease ---------------------------------------------------------------------------------------
LEASE_DURATION_S: Final = 15.0
LEASE_RENEW_DEADLINE_S: Final = 10.0
LEASE_RETRY_S: Final = 2.0
LEASE_JITTER: Final = 1.2  # as in client-go: retry periods are up to this much longer
# How often in a retry period a waiting replica looks at the lease: a late look delays the
# take-over. Every 1 s, it is 16 s after the last renewal, plus three round trips.
LEASE_LOOKS_PER_RETRY: Final = 2
LEASE_REQUEST_TIMEOUT_S: Final = 5.0  # half the renew deadline: one response may be lost
LEASE_RELEASE_TIMEOUT_S: Final = 2.0  # the shutdown must not wait for the API server
# The elector waits at most 10 s for two responses and sleeps 2.4 s before it asks again.
LEASE_SILENT_S_MAX: Final = 60.0
# How often the elector looks whether this replica can decide.
LEASE_ABILITY_LOOK_S: Final = 0.5
# Our writes of the last renew deadline, of which any may be the one that the API server holds.
LEASE_WRITES_REMEMBERED_MAX: Final = 16
