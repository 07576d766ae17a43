"""The command line of each component: every flag that the harness needs, and why. Flags of the
caller come last, and the last one wins.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tests.cluster.folder import Folder

CONTROLLERS = (
    "deployment-controller",
    "replicaset-controller",
    "statefulset-controller",
    "daemonset-controller",
    "job-controller",
    "namespace-controller",
    "garbage-collector-controller",
    "disruption-controller",
)
FIRST_MINOR_WITHOUT_INSECURE_PORT = 24
FIRST_MINOR_WITH_CONTROLLER_SUFFIX = 28
FIRST_MINOR_WITH_WATCH_GRACE = 28


def etcd(folder: Folder, client_port: int, peer_port: int, flags: Sequence[str]) -> list[str]:
    client, peer = f"http://127.0.0.1:{client_port}", f"http://127.0.0.1:{peer_port}"
    return [
        "etcd",
        f"--data-dir={folder.below('etcd')}",
        f"--listen-client-urls={client}",
        f"--advertise-client-urls={client}",
        f"--listen-peer-urls={peer}",
        f"--initial-advertise-peer-urls={peer}",
        f"--initial-cluster=default={peer}",
        "--unsafe-no-fsync",  # a test's data need not survive the machine
        "--log-level=warn",
        *flags,
    ]


def api_server(
    folder: Folder, port: int, etcd_port: int, minor: int, flags: Sequence[str]
) -> list[str]:
    pki = folder.below("pki")
    # Without it, a graceful stop waits a minute until watches of others end by themselves.
    newer = ["--shutdown-watch-termination-grace-period=1s"]
    return [
        "kube-apiserver",
        f"--etcd-servers=http://127.0.0.1:{etcd_port}",
        "--bind-address=127.0.0.1",
        f"--secure-port={port}",
        f"--tls-cert-file={pki / 'apiserver.crt'}",
        f"--tls-private-key-file={pki / 'apiserver.key'}",
        # Published for components that look up extension-apiserver-authentication.
        f"--client-ca-file={pki / 'ca.crt'}",
        "--service-account-issuer=https://kubernetes.default.svc",
        f"--service-account-signing-key-file={pki / 'sa.key'}",
        f"--service-account-key-file={pki / 'sa.pub'}",
        "--authorization-mode=RBAC",
        f"--token-auth-file={folder.tokens}",
        "--service-cluster-ip-range=10.0.0.0/24",
        "--allow-privileged=true",
        "--endpoint-reconciler-type=none",
        # No controller makes default service accounts; and no kubelet would ever take away the
        # not-ready taint that TaintNodesByCondition puts on each new node.
        "--disable-admission-plugins=ServiceAccount,TaintNodesByCondition",
        f"--audit-policy-file={folder.audit_policy}",
        f"--audit-log-path={folder.audit_log}",
        "--audit-log-maxsize=100000",  # MB: a rotated log would lose half of the history
        *(newer if minor >= FIRST_MINOR_WITH_WATCH_GRACE else []),
        *flags,
    ]


def scheduler(kubeconfig: Path, port: int, minor: int, flags: Sequence[str]) -> list[str]:
    return [
        "kube-scheduler",
        *_client_flags(kubeconfig, port, minor),
        "--leader-elect=false",
        *flags,
    ]


def controller_manager(
    folder: Folder,
    kubeconfig: Path,
    port: int,
    minor: int,
    *,
    controllers: Sequence[str],
    flags: Sequence[str],
) -> list[str]:
    names = list(controllers)
    if minor < FIRST_MINOR_WITH_CONTROLLER_SUFFIX:
        short = {"garbage-collector-controller": "garbagecollector"}
        names = [short.get(name, name.removesuffix("-controller")) for name in names]
    return [
        "kube-controller-manager",
        *_client_flags(kubeconfig, port, minor),
        "--leader-elect=false",
        f"--controllers={','.join(names)}",
        f"--service-account-private-key-file={folder.below('pki', 'sa.key')}",
        f"--root-ca-file={folder.ca_file}",
        *flags,
    ]


def _client_flags(kubeconfig: Path, port: int, minor: int) -> list[str]:
    flags = [
        f"--kubeconfig={kubeconfig}",
        f"--authentication-kubeconfig={kubeconfig}",
        f"--authorization-kubeconfig={kubeconfig}",
        "--bind-address=127.0.0.1",
        f"--secure-port={port}",
    ]
    return flags if minor >= FIRST_MINOR_WITHOUT_INSECURE_PORT else [*flags, "--port=0"]
