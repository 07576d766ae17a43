"""A connection to an API server, before the first request.

Owns `Connection`. Must not know where it was read.
"""

from __future__ import annotations

from dataclasses import dataclass
from ssl import SSLContext
from typing import Final

from kpolicy.cluster.credentials import Authorization
from kpolicy.cluster.tls import TlsMaterial

# `source` of a connection that a pod's service account gives.
IN_CLUSTER: Final = "in-cluster"


@dataclass(frozen=True, slots=True)
class Connection:
    """All there is to know before the first request."""

    server: str  # scheme, host, port and path prefix, without a slash at the end
    authorization: Authorization
    namespace: str
    user: str
    source: str  # where this came from, for the log
    tls: TlsMaterial | None = None  # None: plain HTTP
    server_name: str | None = None  # expected in the server's certificate, where not its address
    proxy: str | None = None
    headers: tuple[tuple[str, str], ...] = ()  # impersonation

    @property
    def ssl_context(self) -> SSLContext | None:
        return self.tls.context if self.tls else None

    @property
    def is_in_cluster(self) -> bool:
        return self.source == IN_CLUSTER
