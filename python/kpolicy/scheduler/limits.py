"""Every bound of `scheduler/`, with the reason for its size. Names of times end in their unit.

Nothing in this package waits, retries, queues or loops without one of these (boundary B10).
"""

from __future__ import annotations

from typing import Final

from kpolicy.clock import NANOSECONDS

# --- queue ---------------------------------------------------------------------------------------
# kube-scheduler's podInitialBackoffSeconds and podMaxBackoffSeconds.
BACKOFF_INITIAL_NS: Final = 1 * NANOSECONDS
BACKOFF_NS_MAX: Final = 10 * NANOSECONDS
# For pods that take too much work for one decision: only another spec or a smaller cluster helps.
SET_ASIDE_BACKOFF_NS_MAX: Final = 300 * NANOSECONDS
# Doubling 1 s reaches 10 s at the fifth attempt; a larger exponent would only make large numbers.
BACKOFF_DOUBLINGS_MAX: Final = 16
# Pods parked longer than this are tried again although no hint spoke for them; looked at each 30 s.
PARKED_NS_MAX: Final = 300 * NANOSECONDS
FLUSH_PERIOD_S: Final = 30.0
# Ten times the pods of the largest supported cluster, a few hundred bytes each. What comes beyond
# is counted, left to the engine's snapshot, and fetched from there when there is room again.
QUEUE_PODS_MAX: Final = 1_500_000
# Entries of deleted pods stay in a heap until they reach its top; beyond this many it is rebuilt.
STALE_ENTRIES_MIN: Final = 1024

# --- cycle ---------------------------------------------------------------------------------------
# Pods decided in one engine call: enough that the call itself costs nothing beside them, and few
# enough that the first of a burst are bound while the rest is decided.
BATCH_PODS_MAX: Final = 256
# Deltas wait for the end of a batch; batches that take longer than this become smaller.
BATCH_NS_MAX: Final = 20_000_000
# Binds under way at once. Past this the API server, not we, sets the pace, and every further one
# only holds a reservation longer; with B7 none of them may be forgotten.
BINDS_IN_FLIGHT_MAX: Final = 64
# Decisions that may be assumed but wait for a place in the window: one batch ahead keeps the window
# filled while the engine decides the next.
BINDS_WAITING_MAX: Final = BATCH_PODS_MAX
# A bind whose outcome is unknown keeps its reservation and is asked about again, first so soon,
# then at most so late, until the API server answers.
BIND_ASK_AGAIN_S_INITIAL: Final = 1.0
BIND_ASK_AGAIN_S_MAX: Final = 10.0
# They do not count among the binds under way, up to so many: requests that hang for some pods (a
# webhook's) hold up those pods. Where everything hangs, this ends the deciding.
BINDS_IN_DOUBT_MAX: Final = 1024
# While more wait than there is room for, a batch is worth its call only from this many on.
BATCH_PODS_WORTH: Final = 96
# Evictions under way at once, for all pods together: kube-scheduler's parallelism. Of preemptions
# there is one a pod at the most, which is held in the queue meanwhile.
EVICTIONS_IN_FLIGHT_MAX: Final = 16
# A claim that the API server has not taken by then is given up, and its pod tried anew: longer than
# one write of it may take, and short enough for a pod that would fit elsewhere by now.
ROOM_CLAIM_S_MAX: Final = 15.0
# Pods that wait until their volumes are bound do not count among the binds under way, up to so
# many: a provisioner that hangs holds up its own pods. Each keeps a task and a reservation.
PRE_BINDS_MAX: Final = 4096
# What waits is looked at when the watch brought something of it, at most so often, and at least so
# often as kube-scheduler does.
VOLUMES_LOOK_S_MIN: Final = 0.05
VOLUMES_LOOK_S_MAX: Final = 1.0
# The node of such a pod is written into its status first, for so many pods at once: a burst of
# them must not keep the writers of conditions from others. A pod that waited so long goes on.
NOMINATIONS_IN_FLIGHT_MAX: Final = 16
NOMINATION_S_MAX: Final = 10.0

# --- extenders -----------------------------------------------------------------------------------
# kube-scheduler's default, for extenders without a timeout in the policy.
EXTENDER_TIMEOUT_S: Final = 5.0
# Pods about which extenders are asked at once. kube-scheduler asks about one at a time; more would
# only find nodes that the ones before them took.
EXTENDED_PODS_MAX: Final = 8
# Extenders are asked again if the cluster changed meanwhile; after that the pod backs off.
EXTENDED_TRIES_MAX: Final = 4
# Answers may name or hold every node of the largest cluster, at some 10 KiB each; not more.
EXTENDER_ANSWER_BYTES_MAX: Final = 64 * 1024 * 1024
# Reading more than this would hold up the loop for milliseconds.
EXTENDER_INLINE_BYTES_MAX: Final = 256 * 1024
# The length of a node's name or a reason in an event of 1,024 bytes.
EXTENDER_REASON_CHARACTERS_MAX: Final = 1024
# A pod that an extender reports as bound is looked up so often, the first time at once.
EXTENDER_BIND_LOOKS_MAX: Final = 4
EXTENDER_BIND_LOOK_S: Final = 0.1
# Pods placed, and to be bound by an extender: far above the reservations there can be.
EXTENDER_BINDS_EXPECTED_MAX: Final = 10_000
# Clients of a policy that was replaced stay open for the answers that are still to come.
EXTENDER_CLOSE_S: Final = 60.0

# --- settling ------------------------------------------------------------------------------------
# Outcomes of binds handed to the engine in one call.
SETTLE_BATCH_MAX: Final = 1024
# Successful binds gather so long before they are handed to the engine, which also sees them in the
# watch. Failed ones free room for other pods, and do not wait.
SETTLE_LINGER_S: Final = 0.004
SUMMARY_PERIOD_S: Final = 10.0

# Pods moved in the queue in one turn of the loop: 2,000 take about 5 ms.
SLICE_PODS: Final = 2000

# --- engine thread -------------------------------------------------------------------------------
# One caller for each watched resource, the cycle, settling and a reload: about twenty may wait for
# the engine's thread, each for one call. Names of unreadable objects that were logged already:
UNREADABLE_NAMES_MAX: Final = 10_000

# --- informers -----------------------------------------------------------------------------------
# A policy that reads a further resource waits so long for its list; decisions wait with it.
ADDED_RESOURCE_SYNC_S: Final = 30.0
# A resource that no policy reads any more is still watched for so long, and while pods wait for
# what is brought; a policy that comes back within a moment costs no list.
RETIRE_LOOK_S: Final = 2.0

# --- policy sources ------------------------------------------------------------------------------
POLICY_POLL_S: Final = 1.0
# Editors and kubelet write several files in a row; what still changes is read a moment later.
POLICY_DEBOUNCE_S: Final = 0.5
POLICY_FILES_MAX: Final = 256
POLICY_FILE_BYTES_MAX: Final = 1024 * 1024
POLICY_READ_TRIES_MAX: Final = 5
# A source that changes all the time is compiled at most twice a second, the newest each time; one
# change after a rest is compiled at once.
POLICY_PERIOD_S_MIN: Final = 0.5
# A source that the API server did not let us read is asked for again this much later.
POLICY_RETRY_S: Final = 30.0
# The size of the compressed copy of a policy: a ConfigMap holds 1 MiB, in base64.
LAST_GOOD_BYTES_MAX: Final = 700 * 1024
# And unpacked, so that no damaged file fills the memory: 256 files of 1 MiB compress well.
LAST_GOOD_TEXT_BYTES_MAX: Final = 64 * 1024 * 1024
# The status of the policy is written at most so often, the newest each time.
STATUS_PERIOD_S: Final = 1.0
# Diagnostics in the status, in /configz, and in an event, whose note has room for few.
DIAGNOSTICS_TOLD_MAX: Final = 20
DIAGNOSTICS_IN_EVENT_MAX: Final = 3
# Diagnostics of one reload written to the log; the rest is a count.
DIAGNOSTICS_LOGGED_MAX: Final = 20

# --- shadow --------------------------------------------------------------------------------------
# Calls and bytes that wait for the shadow's engine; past half of the calls decisions are dropped,
# past the whole of either it begins anew.
SHADOW_BACKLOG_MAX: Final = 8192
SHADOW_BACKLOG_BYTES_MAX: Final = 256 * 1024 * 1024
# New lists cost the API server: not sooner after it fell behind.
SHADOW_RESYNC_S: Final = 60.0
SHADOW_LOG_LINES_MAX: Final = 10
SHADOW_LOG_PERIOD_S: Final = 10.0
SHADOW_NICENESS: Final = 10

# --- looked at from outside ----------------------------------------------------------------------
# What a comparison finds once may be the time between two answers; what it finds again after this
# is none.
COMPARE_AGAIN_S: Final = 2.0
DIFFERENCES_LOGGED_MAX: Final = 20
# Between two explanations, and between two comparisons that were asked for: what they cost, others
# wait for.
PAGE_PERIOD_NS: Final = 1 * NANOSECONDS
# Names among which one that was perhaps meant is looked for.
NAMES_COMPARED_MAX: Final = 1000
# A right that was taken away ends so late; kube-apiserver's own components remember for 10 s too.
REVIEW_REMEMBERED_NS: Final = 10 * NANOSECONDS
REVIEWS_REMEMBERED_MAX: Final = 512
REVIEWS_IN_FLIGHT_MAX: Final = 4
REVIEWS_WAITING_MAX: Final = 64
DIFFERENCES_SHOWN_MAX: Final = 200
# Lines of the queue's dump: far below what the log's own queue holds.
QUEUE_DUMPED_MAX: Final = 1000

# --- process -------------------------------------------------------------------------------------
# The whole way out stays below 8 s: binds, then lease and last events within the same time, then
# the telemetry's 2 s.
STOP_BINDS_S: Final = 5.0
STOP_S: Final = 5.6
STOP_LEASE_S: Final = 2.0
# The time for releasing the lease, even if the binds have used up theirs.
STOP_LEASE_S_MIN: Final = 0.4
STOP_WRITES_S: Final = 1.0
LAG_PERIOD_S: Final = 0.1
# A loop that was held up longer than this is worth a line in the log, at most once a minute.
LAG_WARNING_S: Final = 0.5
LAG_WARNING_PERIOD_S: Final = 60.0
# A call of the engine that takes longer will not end: liveness fails and we are restarted.
ENGINE_CALL_S_MAX: Final = 60.0
# A task that waits for nothing but the engine, a clock or other tasks goes round far sooner.
TASK_SILENT_S_MAX: Final = 300.0
# Compiling, asking for permission (70 s), first lists (30 s), stores and status (70 s each).
POLICY_TASK_SILENT_S_MAX: Final = 600.0
