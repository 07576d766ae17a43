"""Every bound of `scheduler/`, with the reason for its size. Names of times end in their unit.

Nothing in this package waits, retries, queues or loops without one of these (boundary B10).
"""

from __future__ import annotations

from typing import Final

from kpolicy.api_times import NANOSECONDS

# --- queue ---------------------------------------------------------------------------------------
# kube-scheduler's podInitialBackoffSeconds and podMaxBackoffSeconds.
BACKOFF_INITIAL_NS: Final = 1 * NANOSECONDS
BACKOFF_NS_MAX: Final = 10 * NANOSECONDS
# For pods that take too much work for one decision: only another spec or a smaller cluster helps.
SET_ASIDE_BACKOFF_NS_MAX: Final = 300 * NANOSECONDS
# Doubling 1 s reaches 10 s at the fifth attempt; a larger exponent would only make large numbers.
BACKOFF_DOUBLINGS_MAX: Final = 16
# Pods that were parked longer than this are tried again, although no event woke them. Checked each
# 30 s.
PARKED_NS_MAX: Final = 300 * NANOSECONDS
FLUSH_PERIOD_S: Final = 30.0
# Rules see the time in whole minutes. The engine is told of each once, and not more often than this
# where the wall clock is set while the loop waits.
MINUTE_S: Final = 60
TIME_PERIOD_S_MIN: Final = 0.01
# Ten times the pods of the largest supported cluster, a few hundred bytes each. Further pods are
# counted; they stay in the engine's snapshot, and are fetched from there when there is room again.
QUEUE_PODS_MAX: Final = 1_500_000
# Entries of deleted pods stay in a heap until they reach its top; beyond this many it is rebuilt.
STALE_ENTRIES_MIN: Final = 1024

# --- cycle ---------------------------------------------------------------------------------------
# Pods decided in one engine call: so many that the call itself costs little, and so few that the
# first pods of a burst are bound while the others are decided.
BATCH_PODS_MAX: Final = 256
# Changes from watches wait for the end of a batch. If a batch takes longer than this, the next one
# is smaller.
BATCH_NS_MAX: Final = 20_000_000
# Binds under way at once. With this many the API server sets the pace; more would only keep their
# reservations for longer.
BINDS_IN_FLIGHT_MAX: Final = 64
# Placed pods whose binds wait for a place in the window. One batch keeps the window full while the
# engine decides the next.
BINDS_WAITING_MAX: Final = BATCH_PODS_MAX
# A bind with an unknown result keeps its reservation. kpolicy asks the API server about it with
# growing pauses, from the first to the second of these times, until it answers.
BIND_ASK_AGAIN_S_INITIAL: Final = 1.0
BIND_ASK_AGAIN_S_MAX: Final = 10.0
# Up to this number, such binds do not count as binds under way: if a webhook hangs for some pods,
# only these pods wait. If all binds hang, this limit ends the deciding.
BINDS_IN_DOUBT_MAX: Final = 1024
# While more pods wait than there is room for, the loop waits until a batch can have this many pods.
BATCH_PODS_WORTH: Final = 96
# Evictions under way at once, for all pods together, as in kube-scheduler. A pod has at most one
# preemption, and is held in the queue meanwhile.
EVICTIONS_IN_FLIGHT_MAX: Final = 16
# If the API server has not accepted a nomination by then, it is given up, and its pod is tried
# again. This is longer than one write may take, and short enough for a pod that fits elsewhere by
# now.
ROOM_CLAIM_S_MAX: Final = 15.0
# Up to this number, pods that wait for their volumes do not count as binds under way: if a
# provisioner hangs, only its pods wait. Each has a task and a reservation.
PRE_BINDS_MAX: Final = 4096
# Pods that wait for volumes are examined after each change of their objects, but not more often
# than the first time, and at least as often as the second, which is kube-scheduler's.
VOLUMES_LOOK_S_MIN: Final = 0.05
VOLUMES_LOOK_S_MAX: Final = 1.0
# The node of such a pod is first written to its status, for this many pods at once, so that a burst
# leaves writers for other conditions. After this time, the pod continues without it.
NOMINATIONS_IN_FLIGHT_MAX: Final = 16
NOMINATION_S_MAX: Final = 10.0

# Of expressions about the queue that failed, so many are shown, the last ones.
FAILED_RULES_MAX: Final = 32
# The log says the same of such an expression at most once in this time.
FAILED_RULE_TOLD_NS: Final = 600 * 1_000_000_000

# --- plugins -------------------------------------------------------------------------------------
# How long one call of a plugin may be allowed to take.
PLUGIN_CALL_S_MIN: Final = 0.01
PLUGIN_CALL_S_MAX: Final = 600.0
# Up to this number, placed pods about which plugins are asked, or that wait on Permit, do not count
# as binds under way: a gang of a thousand pods waits for its last member.
PLUGGED_PODS_MAX: Final = 4096
# Pods about which plugins are asked at once before they are tried. If all of them hang, others
# wait.
ADMISSIONS_MAX: Final = 1024
# Requests of plugins under way at once: binds need the connections more.
PLUGIN_REQUESTS_MAX: Final = 16
# Every event wakes the pods that plugins refused, but no more often than this.
REFUSED_WAKES_S_MIN: Final = 0.1

# --- extenders -----------------------------------------------------------------------------------
# kube-scheduler's default, for extenders without a timeout in the policy.
EXTENDER_TIMEOUT_S: Final = 5.0
# Pods about which extenders are asked at once. kube-scheduler asks about one at a time. With more
# pods, extenders would often choose nodes that other pods have taken meanwhile.
EXTENDED_PODS_MAX: Final = 8
# Extenders are asked again if the cluster changed meanwhile; after that the pod backs off.
EXTENDED_TRIES_MAX: Final = 4
# An answer may contain every node of the largest cluster, with about 10 KiB each.
EXTENDER_ANSWER_BYTES_MAX: Final = 64 * 1024 * 1024
# Reading a larger answer would block the loop for milliseconds.
EXTENDER_INLINE_BYTES_MAX: Final = 256 * 1024
# The length of a node's name or a reason in an event of 1,024 bytes.
EXTENDER_REASON_CHARACTERS_MAX: Final = 1024
# How often kpolicy reads a pod that an extender reports as bound. The first time is at once.
EXTENDER_BIND_LOOKS_MAX: Final = 4
EXTENDER_BIND_LOOK_S: Final = 0.1
# Placed pods that an extender has to bind: far more than there can be reservations.
EXTENDER_BINDS_EXPECTED_MAX: Final = 10_000
# Clients of a replaced policy stay open for this time, because answers may still arrive.
EXTENDER_CLOSE_S: Final = 60.0

# --- settling ------------------------------------------------------------------------------------
# Outcomes of binds handed to the engine in one call.
SETTLE_BATCH_MAX: Final = 1024
# Successful binds are collected for this time before they are passed to the engine, which also sees
# them in the watch. Failed binds free room for other pods, so they do not wait.
SETTLE_LINGER_S: Final = 0.004
SUMMARY_PERIOD_S: Final = 10.0

# Pods moved in the queue in one turn of the loop: 2,000 take about 5 ms.
SLICE_PODS: Final = 2000

# --- engine thread -------------------------------------------------------------------------------
# One caller for each watched resource, the cycle, settling and a reload: about twenty may wait for
# the engine's thread, each for one call. Names of unreadable objects that were logged already:
UNREADABLE_NAMES_MAX: Final = 10_000

# --- informers -----------------------------------------------------------------------------------
# If a policy reads one more resource, it waits for its list at most this long. Decisions wait too.
ADDED_RESOURCE_SYNC_S: Final = 30.0
# A resource that no policy reads any more is watched for this time, and while pods wait for its
# objects. So a policy that comes back soon needs no new list.
RETIRE_LOOK_S: Final = 2.0

# --- policy sources ------------------------------------------------------------------------------
POLICY_POLL_S: Final = 1.0
# Editors and the kubelet write several files one after the other. Files that still change are read
# a little later.
POLICY_DEBOUNCE_S: Final = 0.5
POLICY_FILES_MAX: Final = 256
POLICY_FILE_BYTES_MAX: Final = 1024 * 1024
POLICY_READ_TRIES_MAX: Final = 5
# A source that changes all the time is compiled at most twice a second. A single change is compiled
# at once.
POLICY_PERIOD_S_MIN: Final = 0.5
# After the API server refused to show a source, it is asked again after this time.
POLICY_RETRY_S: Final = 30.0
# How often the API server is asked for its version, which an upgrade changes.
CLUSTER_VERSION_S: Final = 300.0
# So many ConfigMaps of tenants are held, those of the first namespaces by name.
TENANT_MAPS_MAX: Final = 1_000
# A tenant's ConfigMap that changes all the time is read at most once in this time: a new program is
# loaded for everybody, and every parked pod is tried again. A first change is read at once.
TENANT_PERIOD_S_MIN: Final = 60.0
# How many tenants the status and /configz list, those with refused policies first.
TENANTS_LISTED_MAX: Final = 50
# The size of the compressed copy of a policy: a ConfigMap holds 1 MiB, in base64.
LAST_GOOD_BYTES_MAX: Final = 700 * 1024
# The size of the unpacked copy, so that a damaged file cannot fill the memory.
LAST_GOOD_TEXT_BYTES_MAX: Final = 64 * 1024 * 1024
# The shortest time between two writes of the policy's status.
STATUS_PERIOD_S: Final = 1.0
# How many diagnostics the status and /configz show, and how many an event, which is short.
DIAGNOSTICS_TOLD_MAX: Final = 20
DIAGNOSTICS_IN_EVENT_MAX: Final = 3
# How many diagnostics of one reload are logged; the others are counted.
DIAGNOSTICS_LOGGED_MAX: Final = 20

# --- shadow --------------------------------------------------------------------------------------
# Calls and bytes that may wait for the shadow's engine. Beyond half of the calls, decisions are
# dropped. Beyond either limit, the shadow starts again with new lists.
SHADOW_BACKLOG_MAX: Final = 8192
SHADOW_BACKLOG_BYTES_MAX: Final = 256 * 1024 * 1024
# New lists are expensive for the API server. The shadow waits this long before it lists again.
SHADOW_RESYNC_S: Final = 60.0
SHADOW_LOG_LINES_MAX: Final = 10
SHADOW_LOG_PERIOD_S: Final = 10.0
SHADOW_NICENESS: Final = 10

# --- looked at from outside ----------------------------------------------------------------------
# A difference may only be the time between two answers. A second comparison after this time shows
# whether it is real.
COMPARE_AGAIN_S: Final = 2.0
DIFFERENCES_LOGGED_MAX: Final = 20
# The pause between two explanations, and between two requested comparisons, because pods wait
# meanwhile.
PAGE_PERIOD_NS: Final = 1 * NANOSECONDS
# Answers of /metrics/resources under way: each keeps the pods of its moment. Others wait.
RESOURCE_SCRAPES_MAX: Final = 2
# How many names are searched for the one that was perhaps meant.
NAMES_COMPARED_MAX: Final = 1000
# For so long, a revoked right is still granted. Components of Kubernetes also remember answers for
# 10 s.
REVIEW_REMEMBERED_NS: Final = 10 * NANOSECONDS
REVIEWS_REMEMBERED_MAX: Final = 512
REVIEWS_IN_FLIGHT_MAX: Final = 4
REVIEWS_WAITING_MAX: Final = 64
DIFFERENCES_SHOWN_MAX: Final = 200
# Lines in a dump of the queue: far fewer than the log's own queue can hold.
QUEUE_DUMPED_MAX: Final = 1000

# --- process -------------------------------------------------------------------------------------
# A stop takes less than 8 s: first the binds, then the lease and the last events within the same
# time, then 2 s for telemetry.
STOP_BINDS_S: Final = 5.0
STOP_S: Final = 5.6
STOP_LEASE_S: Final = 2.0
# The time for releasing the lease, even if the binds have used up theirs.
STOP_LEASE_S_MIN: Final = 0.4
STOP_WRITES_S: Final = 1.0
LAG_PERIOD_S: Final = 0.1
# If the loop was blocked for longer than this, a line is logged, at most once a minute.
LAG_WARNING_S: Final = 0.5
LAG_WARNING_PERIOD_S: Final = 60.0
# How often the parts that decide are looked at for the lease, and after which silence the lease is
# not renewed. With the default lease another replica leads at the latest 6 s + 0.5 s (the look) +
# 15 s (the lease) + 1 s (its own look) after a hang. A request of a bind takes at most 5 s.
VITAL_LOOK_S: Final = 0.5
VITAL_SILENT_S_MAX: Final = 6.0
# The elector ends the process when the lease is lost. If it hangs, the loop does so, after twice
# this time.
LEASE_LOST_GRACE_S: Final = 2.0
# A call of the engine that takes longer will not end. Then liveness fails, so that the process is
# restarted.
ENGINE_CALL_S_MAX: Final = 60.0
# A task that only waits for the engine, a clock or other tasks beats far more often than this.
TASK_SILENT_S_MAX: Final = 300.0
# The sum of compiling, asking for permission (70 s), first lists (30 s), stores and status (70 s
# each).
POLICY_TASK_SILENT_S_MAX: Final = 600.0
# Pods on /debug/queue, if the request does not say how many, and at most.
QUEUE_PAGE_PODS: Final = 20
QUEUE_PAGE_PODS_MAX: Final = 1_000
# Pods of a namespace on /debug/explain on which advice is made, pods alike counted once: the engine
# decides nothing meanwhile.
PAGE_ADVISED_SHAPES_MAX: Final = 5
# Pods on /debug/waiting, those that have waited longest.
WAITING_SHOWN_MAX: Final = 1_000
