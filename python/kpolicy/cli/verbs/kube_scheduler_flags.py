"""Flags of kube-scheduler that `kpolicy run` does not have, and what to use instead.

docs/differences-from-kube-scheduler.md has a row for each, held equal by a test.
"""

from __future__ import annotations

from typing import Final

_NO_LIMIT: Final = "`--binds-in-flight` bounds the requests that wait for an answer instead"
_LEASE: Final = "`--lease-name` and `--lease-namespace` name the Lease"
_AUTH: Final = "`--auth delegated` asks the API server with kpolicy's own account"
_TLS: Final = "leave it out: with `--tls-cert-file`, TLS 1.2 and newer are served"
_HTTP: Final = "leave it out: the pages are served over HTTP/1.1"
_LOG: Final = "use `--log-format` and `--log-level`"
_METRICS: Final = "leave it out: all metrics are served, with all their labels"
_PROFILES: Final = "leave it out: kpolicy has no page of profiles"
_PORT: Final = "leave it out: `--bind-address` and `--port` are used as they are"

KUBE_SCHEDULER_FLAGS: Final = {
    "--policy-config-file": "use `--policy FILE`, which reads the same scheduler.json",
    "--policy-configmap-namespace": "use `--policy-configmap NS/NAME`",
    "--use-legacy-policy-config": "leave it out: `--policy FILE` reads legacy policies too",
    "--algorithm-provider": "leave it out for DefaultProvider; for ClusterAutoscalerProvider use "
    "`--policy bin-packing`",
    "--scheduler-name": "name it in the policy (`spec.profiles`); `--scheduler-names` says which "
    "names policies may use",
    "--hard-pod-affinity-symmetric-weight": "set `spec.interPodAffinity.hardPodAffinityWeight` in "
    "the policy",
    "--master": "name the server in a kubeconfig (`--kubeconfig`)",
    "--kube-api-qps": _NO_LIMIT,
    "--kube-api-burst": _NO_LIMIT,
    "--leader-elect-resource-name": _LEASE,
    "--leader-elect-resource-namespace": _LEASE,
    "--leader-elect-lease-duration": "use `--lease-duration`",
    "--leader-elect-renew-deadline": "use `--lease-renew-deadline`",
    "--leader-elect-retry-period": "use `--lease-retry-period`",
    "--lock-object-name": _LEASE,
    "--lock-object-namespace": _LEASE,
    "--secure-port": "use `--port`; with `--tls-cert-file` it serves https",
    "--address": "use `--bind-address`",
    "--authentication-kubeconfig": _AUTH,
    "--authorization-kubeconfig": _AUTH,
    "--write-config-to": "use `kpolicy convert`, which prints a configuration as a policy",
    "--leader-elect-resource-lock": "leave it out: it is always a Lease",
    "--pod-max-in-unschedulable-pods-duration": "use `--flush-after`",
    "--profiling": _PROFILES,
    "--contention-profiling": _PROFILES,
    "--kube-api-content-type": "leave it out: kpolicy reads and writes JSON",
    "--emulated-version": "use `--release`",
    "--min-compatibility-version": "use `--release`",
    "--authentication-skip-lookup": _AUTH,
    "--authentication-token-webhook-cache-ttl": _AUTH,
    "--authentication-tolerate-lookup-failure": _AUTH,
    "--authorization-always-allow-paths": _AUTH,
    "--authorization-webhook-cache-authorized-ttl": _AUTH,
    "--authorization-webhook-cache-unauthorized-ttl": _AUTH,
    "--client-ca-file": _AUTH,
    "--requestheader-allowed-names": _AUTH,
    "--requestheader-client-ca-file": _AUTH,
    "--requestheader-extra-headers-prefix": _AUTH,
    "--requestheader-group-headers": _AUTH,
    "--requestheader-uid-headers": _AUTH,
    "--requestheader-username-headers": _AUTH,
    "--cert-dir": "use `--tls-cert-file` and `--tls-private-key-file`",
    "--tls-sni-cert-key": "use `--tls-cert-file` and `--tls-private-key-file`",
    "--tls-cipher-suites": _TLS,
    "--tls-curve-preferences": _TLS,
    "--tls-min-version": _TLS,
    "--disable-http2-serving": _HTTP,
    "--http2-max-streams-per-connection": _HTTP,
    "--permit-address-sharing": _PORT,
    "--permit-port-sharing": _PORT,
    "--allow-metric-labels": _METRICS,
    "--allow-metric-labels-manifest": _METRICS,
    "--disabled-metrics": _METRICS,
    "--show-hidden-metrics-for-version": _METRICS,
    "--logging-format": "use `--log-format`",
    "--log-flush-frequency": _LOG,
    "--log-json-info-buffer-size": _LOG,
    "--log-json-split-stream": _LOG,
    "--log-text-info-buffer-size": _LOG,
    "--log-text-split-stream": _LOG,
    "--v": "use `--log-level`",
    "--vmodule": "use `--log-level`",
}
