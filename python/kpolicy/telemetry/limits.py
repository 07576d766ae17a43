"""Every limit of `telemetry/`, with the reason for its size. Times end in their unit."""

from __future__ import annotations

from typing import Final

# Label sets of one metric. Rules and profiles come from policies, usually a few hundred. More are
# added up under `other`, so that a policy cannot fill our memory or Prometheus'.
SERIES_MAX: Final = 2000
# Tenants whose rules have a label of their own in metrics by rule, the first ones that the process
# counts anything of. The others share one, so that tenants leave the operator's rules their series.
TENANTS_NAMED_MAX: Final = 50

# Log lines that wait for a slow stderr. More are dropped and counted: the loop never waits.
LOG_LINES_WAITING_MAX: Final = 10_000
LOG_FIELD_CHARACTERS_MAX: Final = 2048
LOG_FLUSH_S: Final = 0.5
# Warnings and errors of one line of code: so many at once, and then so many a second. Others are
# counted: peers and broken surroundings can cause any number. Lines below a warning are not
# limited, because operators choose their level.
LOG_REPEATS_MAX: Final = 100
LOG_REPEATS_PER_S: Final = 1.0
LOG_PLACES_MAX: Final = 1000

# The highest limits that can be configured: more traces would need a core of their own.
TRACES_PER_SECOND_MAX: Final = 10_000
# Traces built each second by default: all that the sampler selects. Each costs about as much
# processor time as scheduling a pod, so a busy cluster sets a ratio for the sampler.
TRACES_PER_SECOND: Final = TRACES_PER_SECOND_MAX
# Failures and slow attempts that the sampler leaves out have a limit of their own.
KEPT_TRACES_PER_SECOND: Final = 20
# A burst of them is kept whole: so many seconds' worth may come at once after a quiet time.
KEPT_TRACES_BURST_S: Final = 50
# Spans that wait for the exporter; OpenTelemetry's default of 2,048 is less than a burst.
SPANS_WAITING_MAX: Final = 32_768
# No trace is begun beyond that. Traces that were begun before end with so many spans at most, even
# if every bind under way ends at once, so that none is exported in part.
SPANS_UNDER_WAY_MAX: Final = 32_768
# An attempt is traced whatever the sampler says if deciding took longer than this, or if it waited
# longer for others (extenders, volume controllers, the API server).
SLOW_CYCLE_NS: Final = 100_000_000
SLOW_CALLS_NS: Final = 1_000_000_000
TRACE_MESSAGE_CHARACTERS_MAX: Final = 1024
TRACE_FLUSH_S: Final = 2.0
# One export may take this long. OpenTelemetry's default of 10 s is longer than our shutdown.
TRACE_EXPORT_S: Final = 5.0

# The server of health and metrics. A head longer than this ends the connection: no request we serve
# needs more than 4 KiB, with a token. The same holds for bytes that arrive before the answer to the
# request before them was written (bodies, pipelined requests).
HTTP_FIELD_BYTES_MAX: Final = 8 * 1024
HTTP_UNREAD_BYTES_MAX: Final = 16 * 1024
# A client has this long for the TLS handshake and a complete head, and for a next one to begin.
HTTP_HEAD_S: Final = 5.0
HTTP_IDLE_S: Final = 75.0
# An answer must have been made and read by then: /debug/compare lists the whole cluster.
HTTP_ANSWER_S: Final = 60.0
HTTP_SWEEP_S: Final = 1.0
# A kubelet, two scrapers and some people need ten. The connection that waits longest is closed for
# a new one, so that a probe always gets through; half of them for each peer leaves room for others.
# All of them together must fit beside our own files at `ulimit -n 128`.
HTTP_CONNECTIONS_MAX: Final = 64
HTTP_CONNECTIONS_OF_PEER_MAX: Final = 32
# Connections that the kernel keeps until we accept them, as many as Linux allows by default: when
# the backlog is full, clients wait for seconds.
HTTP_BACKLOG: Final = 4096
# How long to wait for a file descriptor if the process has none left for a new connection.
HTTP_NO_FILES_S: Final = 0.2
# Of the reason why a request is no HTTP, in the log: it may quote the request.
HTTP_REASON_CHARACTERS_MAX: Final = 200
HTTP_STOP_S: Final = 0.5

# A shorter secret can be guessed; the token of a service account has about 1 KiB.
TOKEN_BYTES_MIN: Final = 16
TOKEN_BYTES_MAX: Final = 16 * 1024
# Certificates are renewed days before they expire; the kubelet takes up to a minute to write them.
CERTIFICATE_PERIOD_S: Final = 10.0
CERTIFICATE_BYTES_MAX: Final = 1024 * 1024
