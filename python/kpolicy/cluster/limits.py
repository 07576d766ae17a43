"""Every bound of `cluster/`, named, with the reason for its size.

Owns numbers only. Times end in their unit. Nothing in this package waits, retries, queues or reads
without one of these (boundary B10).
"""

from __future__ import annotations

from typing import Final

KIB: Final = 1024
MIB: Final = 1024 * KIB

# --- connections ---------------------------------------------------------------------------------
# A watch holds a connection for minutes (we watch about a dozen resources); binds, events and
# conditions take one each while under way. HTTP/1.1: one request at a time per connection.
CONNECTIONS_MAX: Final = 128
# Idle connections are kept shorter than load balancers commonly do (60 s), so that we, not they,
# close them: a request sent into a connection being closed has an unknown outcome.
KEEPALIVE_S: Final = 30.0
CONNECT_TIMEOUT_S: Final = 10.0
# The API server's own limit for a request that is not a watch is 60 s.
REQUEST_TIMEOUT_S: Final = 60.0
# After credentials changed, requests under way on old connections may end; watches resume.
RETIRED_SESSION_GRACE_S: Final = 60.0
# At most this many replaced sessions wait for their end; older ones are closed at once.
RETIRED_SESSIONS_MAX: Final = 4

# --- bytes read ----------------------------------------------------------------------------------
# Answers to writes and errors: a Status, or the written object (etcd refuses over 1.5 MiB; JSON of
# it may be longer).
BODY_BYTES_MAX: Final = 4 * MIB
# Read of an answer at once, into one place for all writes: most answers are of a few KiB.
WRITE_READ_BYTES: Final = 32 * KIB
# What a record of TLS holds at most (RFC 8446, 5.1).
TLS_RECORD_BYTES_MAX: Final = 16 * KIB
# The head of an answer: aiohttp's limit for all of it is of this order.
HEAD_BYTES_MAX: Final = 64 * KIB
# The line before a chunk: a size, and extensions that nobody sends.
CHUNK_LINE_BYTES_MAX: Final = 4 * KIB
# A page of a list: 500 objects of 128 KiB. A page that is larger is asked for again in halves.
PAGE_BYTES_MAX: Final = 64 * MIB
# Text of a failure that we carry along, log and show.
MESSAGE_CHARACTERS_MAX: Final = 2048

# --- list ----------------------------------------------------------------------------------------
LIST_PAGE_OBJECTS: Final = 500  # as client-go's pager
LIST_PAGE_OBJECTS_MIN: Final = 1
# Pages grow up to this when lists outlive etcd's compaction (5 min) and lose their continue token.
LIST_PAGE_OBJECTS_MAX: Final = 8000
# 500 objects a page: five million objects; a server that never ends a list is cut off here.
LIST_PAGES_MAX: Final = 10_000
# One page is tried this often before the list as a whole counts as failed (and starts anew).
LIST_PAGE_TRIES_MAX: Final = 5
# How often a list older than what was seen is refused before it is taken: the cluster was restored
# from a backup, and waiting longer will not bring the lost writes back.
STALE_LISTS_REFUSED_MAX: Final = 5

# --- watch ---------------------------------------------------------------------------------------
# The server ends a watch after a random time, so that watches of many clients do not all move to
# one API server when another restarts.
WATCH_TIMEOUT_S_MIN: Final = 300
WATCH_TIMEOUT_S_MAX: Final = 600
# Bookmarks come about every 60 s and the server keeps 75 s of events: silence longer than that is a
# dead connection, and the events missed can still be had.
WATCH_SILENCE_S: Final = 75.0
# A watch that ends sooner without a byte counts as failed: otherwise a server that closes at once
# would be asked in a hot loop.
WATCH_SHORT_S: Final = 1.0
# A line is one event; an object can have 1.5 MiB in etcd and about thrice that as escaped JSON.
WATCH_LINE_BYTES_MAX: Final = 8 * MIB
# What the socket may gather while the sink works; also the order of the largest hand-over.
WATCH_BATCH_BYTES_MAX: Final = 1 * MIB
# Watches that fail one after the other without a single byte before we list anew.
WATCH_FAILURES_BEFORE_LIST: Final = 5
# Tries at "too large resource version" (we are ahead of a lagging API server) before listing at "".
TOO_LARGE_TRIES_MAX: Final = 3

# An informer that does not list, watch, read or wait anew for so long is dead, whatever the API
# server does: a page is waited for 70 s, silence 75 s, more patience 61 s, an exec plugin 30 s.
INFORMER_SILENT_S_MAX: Final = 300.0

# --- back-off of informers (client-go's reflector) -----------------------------------------------
BACKOFF_S_INITIAL: Final = 0.8
BACKOFF_FACTOR: Final = 2.0
BACKOFF_S_MAX: Final = 30.0
BACKOFF_RESET_S: Final = 120.0
# 401 and 403 seldom mend within seconds, and asking faster only fills the audit log; but an API
# server that starts refuses for a moment what it grants: so often in a row it is asked sooner.
REFUSED_RETRY_S: Final = 30.0
REFUSED_SOON_MAX: Final = 3
# A server that asks for more patience than this is asked again anyway.
RETRY_AFTER_S_MAX: Final = 60.0

# An API server that comes and goes is told of at most so often.
OUTAGE_TOLD_PERIOD_S: Final = 30.0

# --- start ---------------------------------------------------------------------------------------
# An API server that restarts, or is overrun for a moment, is back within this; then whoever started
# us is told, and starts us again. It is asked again after 0.8 s, and at least so often.
START_PATIENCE_S: Final = 30.0
START_RETRY_S_MAX: Final = 3.0

# --- binds ---------------------------------------------------------------------------------------
# The lease's grace (15 s - 10 s): a bind sent in the last moment of leadership ends within it.
BIND_TIMEOUT_S: Final = 5.0
# What we ask the API server to give up after is a little less, so that its own word that it did
# comes before we stop listening.
SERVER_TIMEOUT_SHARE: Final = 0.8
BIND_TRIES_MAX: Final = 3
# A bind that came to no clear end is sent again at most so often; then its pod is only read.
BIND_SENDS_IN_DOUBT_MAX: Final = 8
# A server that asks for more patience than this is not waited for: the pod is queued again.
BIND_RETRY_AFTER_S_MAX: Final = 5.0
BIND_RETRY_S: Final = 0.2
# Reads of the pod to learn what became of a bind whose answer was lost.
SETTLE_TRIES_MAX: Final = 3
SETTLE_TIMEOUT_S: Final = 2.0

# --- writes in doubt -----------------------------------------------------------------------------
# The API server answered that it failed: what it asked of etcd may still be written, for as long
# as etcd takes to give a request up (5 s and two elections of 1 s).
ANSWERED_IN_DOUBT_S: Final = 10.0
# Nothing was answered: the request may lie in a proxy or in the buffer of a server that stands
# still (60 s are common limits there), and when it comes through, the API server works on it for
# its own limit of 60 s, should it not heed the shorter one that we ask for; then etcd as above.
UNANSWERED_IN_DOUBT_S: Final = 130.0

# --- evictions -----------------------------------------------------------------------------------
# As for binds: what is sent in the last moment of leadership ends within the lease's grace.
EVICT_TIMEOUT_S: Final = 5.0
# Of the condition, and again of the deletion: 0.2 s, 0.4 s, 0.8 s between them.
EVICT_TRIES_MAX: Final = 4
EVICT_RETRY_S: Final = 0.2
# A deletion that came to no clear end: its pod is read, first so soon, then so late, and it is sent
# again at most so often.
EVICT_LOOK_S: Final = 1.0
EVICT_LOOK_S_MAX: Final = 10.0
EVICT_SENDS_IN_DOUBT_MAX: Final = 8
# A server that asks for more patience than this is not waited for: room is made another time.
EVICT_RETRY_AFTER_S_MAX: Final = 5.0

# --- volumes -------------------------------------------------------------------------------------
# Volumes and claims written at once, so that a burst of them leaves connections to binds.
VOLUME_WRITES_IN_FLIGHT_MAX: Final = 16
# The controller for volumes writes the same objects: a conflict or two are common, more are not.
VOLUME_WRITE_TRIES_MAX: Final = 4
VOLUME_WRITE_RETRY_S: Final = 0.2

# --- events and conditions -----------------------------------------------------------------------
# The API server refuses notes over 1,024; kube-scheduler cuts to 1,020 bytes and " ...".
EVENT_NOTE_BYTES_MAX: Final = 1024
# Limits of events.k8s.io/v1 for action, reason and reportingInstance.
EVENT_WORD_BYTES_MAX: Final = 128
NAME_BYTES_MAX: Final = 253  # RFC 1123 subdomain
# Binds come first, so events of a burst wait: for this many pods none is lost.
EVENT_QUEUE_MAX: Final = 32_768
EVENT_WORKERS: Final = 8  # one while the window of binds is full
EVENT_SERIES_S: Final = 360.0  # identical ones within 6 min are one series, as in client-go
EVENT_SERIES_MAX: Final = 4096  # series remembered, as client-go's LRU
# A growing series is written at most this often.
EVENT_SERIES_WRITE_S: Final = 60.0
CONDITION_QUEUE_MAX: Final = 8192
CONDITION_WORKERS: Final = 4
# Pods whose last written condition we remember: more than can be parked in the largest cluster.
CONDITION_CACHE_MAX: Final = 200_000
WRITE_TRIES_MAX: Final = 3
WRITE_TIMEOUT_S: Final = 10.0
WRITE_RETRY_S: Final = 1.0
# So long nothing that was to be written came to its end: three tries of 20 s, and 60 s between them
# where the server asks for patience, are far less.
OUTBOX_SILENT_S_MAX: Final = 300.0

# --- reviews -------------------------------------------------------------------------------------
# Whoever scrapes us waits for this, ten seconds by default; twice is asked.
REVIEW_TIMEOUT_S: Final = 4.0

# --- credentials ---------------------------------------------------------------------------------
CREDENTIAL_FILE_BYTES_MAX: Final = 1 * MIB
# Projected service account tokens change well before they end; client-go reads them every minute.
TOKEN_FILE_REREAD_S: Final = 60.0
# Exec plugins are run again this long before their credential ends.
EXEC_REFRESH_AHEAD_S: Final = 60.0
# The longest an exec plugin may take; it may ask a cloud's API.
EXEC_TIMEOUT_S: Final = 30.0
EXEC_OUTPUT_BYTES_MAX: Final = 1 * MIB
# A credential that failed, or was refused, is not fetched again sooner: a plugin is a process.
CREDENTIAL_RETRY_S: Final = 5.0
KUBECONFIG_FILES_MAX: Final = 32

# --- lease ---------------------------------------------------------------------------------------
LEASE_DURATION_S: Final = 15.0
LEASE_RENEW_DEADLINE_S: Final = 10.0
LEASE_RETRY_S: Final = 2.0
LEASE_JITTER: Final = 1.2  # as client-go: retry periods are stretched by up to this much
# Whoever waits looks so often in a retry period: as late as the last renewal was seen, so late is
# the take-over. With 1 s of 2 s that is 16 s after the renewal, plus three round trips.
LEASE_LOOKS_PER_RETRY: Final = 2
LEASE_REQUEST_TIMEOUT_S: Final = 5.0  # half the renew deadline: one lost answer leaves one more try
LEASE_RELEASE_TIMEOUT_S: Final = 2.0  # the way out must not wait on the API server
# The elector asks, waits 10 s at most for two answers, and sleeps 2.4 s: then it asks again.
LEASE_SILENT_S_MAX: Final = 60.0
