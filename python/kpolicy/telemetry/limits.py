"""Every bound of `telemetry/`, named, with the reason for its size.

Owns numbers only; times end in their unit.
"""

from __future__ import annotations

from typing import Final

# Label sets of one metric. Rules and profiles come from policies, a few hundred at most; what comes
# beyond is added up under `other`, so that a policy cannot fill the memory of two processes.
SERIES_MAX: Final = 2000

# Log lines that wait for a slow stderr; more are dropped and counted, the loop never waits.
LOG_LINES_WAITING_MAX: Final = 10_000
LOG_FIELD_CHARACTERS_MAX: Final = 2048
LOG_FLUSH_S: Final = 0.5

# Traces built a second, unless it is set otherwise. Past this a trace more says nothing new, and
# each costs about as much processor time as to schedule a pod. Both allowances together stay below
# the 5 % that traces may cost where a thousand pods a second are scheduled.
TRACES_PER_SECOND: Final = 10
# Failures and slow attempts have an allowance of their own, so that routine never displaces them.
KEPT_TRACES_PER_SECOND: Final = 20
# What may be set: more would take a core by themselves.
TRACES_PER_SECOND_MAX: Final = 10_000
# An attempt is kept, whatever the sampler says, if to decide took longer than this, or others
# (extenders, the volumes' controllers, the API server) let it wait for longer.
SLOW_CYCLE_NS: Final = 100_000_000
SLOW_CALLS_NS: Final = 1_000_000_000
TRACE_MESSAGE_CHARACTERS_MAX: Final = 1024
TRACE_FLUSH_S: Final = 2.0
# One export may take this long; the OpenTelemetry default of 10 s would outlive our way out.
TRACE_EXPORT_S: Final = 5.0

# Requests that read a body we do not want, or never end: 4 KiB is more than any of ours has.
HTTP_HEADER_BYTES_MAX: Final = 8 * 1024
HTTP_BODY_BYTES_MAX: Final = 4 * 1024
HTTP_STOP_S: Final = 0.5

# A shared secret shorter than this can be guessed; a service account's token has about 1 KiB.
TOKEN_BYTES_MIN: Final = 16
TOKEN_BYTES_MAX: Final = 16 * 1024
# Certificates are renewed days before they end; kubelet takes up to a minute to write them.
CERTIFICATE_PERIOD_S: Final = 10.0
CERTIFICATE_BYTES_MAX: Final = 1024 * 1024
