"""Which API server, and as whom: from a flag, KUBECONFIG, ~/.kube/config or the pod we run in.

Owns the order of the sources. In a cluster two variables and two files say all,
and the kubernetes package is not imported. Must not know requests; nothing here reaches a network,
though a credential plugin may.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from pathlib import Path

from kpolicy.clock import Clock
from kpolicy.cluster import problem as code
from kpolicy.cluster.connection import IN_CLUSTER, Connection
from kpolicy.cluster.context_connection import connection_of
from kpolicy.cluster.credentials import (
    TokenFileAuthorization,
)
from kpolicy.cluster.kubeconfig import choose_context, default_paths
from kpolicy.cluster.problem import ConnectionProblem, problem
from kpolicy.cluster.tls import TlsMaterial, TlsSource

SERVICE_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")


async def load_connection(
    environ: Mapping[str, str],
    clock: Clock,
    *,
    kubeconfig: Path | None = None,
    context: str | None = None,
    service_account: Path = SERVICE_ACCOUNT,
) -> Connection | ConnectionProblem:
    """The connection these sources give: the first that is there decides, also when it is wrong."""
    present = _present(kubeconfig, environ)
    if present:
        chosen = choose_context(present, context)
        if isinstance(chosen, ConnectionProblem):
            return chosen
        connection = connection_of(chosen, environ, clock)
    elif kubeconfig or environ.get("KUBECONFIG"):
        named = kubeconfig or environ["KUBECONFIG"]
        return problem(
            code.FILE_MISSING,
            f"there is no kubeconfig at {named}",
            "check --kubeconfig" if kubeconfig else "check the variable KUBECONFIG",
        )
    elif environ.get("KUBERNETES_SERVICE_HOST"):
        connection = _of_service_account(environ, clock, service_account)
    else:
        return problem(
            code.NOTHING_CONFIGURED,
            "no kubeconfig and not in a cluster: there is no API server to talk to",
            "give --kubeconfig, set KUBECONFIG, or run in a pod",
        )
    if isinstance(connection, ConnectionProblem):
        return connection
    header = await connection.authorization.header()
    if isinstance(header, ConnectionProblem):
        return header
    if (pair := connection.authorization.certificate) and connection.tls:
        wrong = connection.tls.refresh(pair)
        if wrong is not None:
            return wrong
    return connection


def _present(kubeconfig: Path | None, environ: Mapping[str, str]) -> tuple[Path, ...]:
    paths = (kubeconfig.expanduser(),) if kubeconfig else default_paths(environ)
    return tuple(path for path in paths if path.exists())


def _of_service_account(
    environ: Mapping[str, str], clock: Clock, folder: Path
) -> Connection | ConnectionProblem:
    host, port = environ["KUBERNETES_SERVICE_HOST"], environ.get("KUBERNETES_SERVICE_PORT", "443")
    for name in ("token", "ca.crt"):
        if not (folder / name).exists():
            return problem(
                code.IN_CLUSTER_INCOMPLETE,
                f"in a pod, but {folder / name} is missing",
                "set automountServiceAccountToken: true, or give --kubeconfig",
            )
    tls = TlsMaterial.load(TlsSource(authority=folder / "ca.crt"))
    if isinstance(tls, ConnectionProblem):
        return tls
    namespace = folder / "namespace"
    return Connection(
        server=f"https://{_bracketed(host)}:{port}",
        authorization=TokenFileAuthorization(folder / "token", clock),
        namespace=namespace.read_text("utf-8").strip() if namespace.exists() else "default",
        user="service account",
        source=IN_CLUSTER,
        tls=tls,
    )


def _bracketed(host: str) -> str:
    try:
        return f"[{host}]" if ipaddress.ip_address(host).version == 6 else host
    except ValueError:
        return host
