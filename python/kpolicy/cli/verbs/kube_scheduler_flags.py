"""Flags of kube-scheduler that `kpolicy run` does not have, and what to use instead.

docs/differences-from-kube-scheduler.md has a row for each, held equal by a test.
"""

from __future__ import annotations

from typing import Final

_NO_LIMIT: Final = "`--binds-in-flight` bounds the requests that wait for an answer instead"
_LEASE: Final = "`--lease-name` and `--lease-namespace` name the Lease"
_AUTH: Final = "`--auth delegated` asks the API server with kpolicy's own account"

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
    "--v": "use `--log-level`",
}
