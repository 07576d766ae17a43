"""Every limit of `telemetry/`, with the reason for its size. Times end in their unit."""

from __future__ import annotations

from typing import Final

# Label sets of one metric. Rules and profiles come from policies, usually a few hundred. More are
# added up under `other`, so that a policy cannot fill our memory or Prometheus'.
SERIES_MAX: Final = 2000

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

# Traces built each second by default. More would say nothing new, and each costs about as much
# processor time as scheduling a pod. Both limits together stay below the 5 % that tracing may cost
# at a thousand pods a second.
TRACES_PER_SECOND: Final = 10
# Failures and slow attempts have a limit of their own, so that routine traces never displace them.
KEPT_TRACES_PER_SECOND: Final = 20
# The highest limits that can be configured: more traces would need a core of their own.
TRACES_PER_SECOND_MAX: Final = 10_000
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
# Connections that the kernel keeps until we accept them: when it is full, clients wait for seconds.
HTTP_BACKLOG: Final = 1024
# The pause after a connection could not be accepted, mostly for want of a file descriptor.
HTTP_ACCEPT_AGAIN_S: Final = 0.2
# Of the reason why a request is no HTTP, in the log: it may quote the request.
HTTP_REASON_CHARACTERS_MAX: Final = 200
HTTP_STOP_S: Final = 0.5

# A shorter secret can be guessed; the token of a service account has about 1 KiB.
TOKEN_BYTES_MIN: Final = 16
TOKEN_BYTES_MAX: Final = 16 * 1024
# Certificates are renewed days before they expire; the kubelet takes up to a minute to write them.
CERTIFICATE_PERIOD_S: Final = 10.0
CERTIFICATE_BYTES_MAX: Final = 1024 * 1024
