"""Why there is no connection to an API server: a value with a code, a message and a hint.

Its reader is the person who wrote the kubeconfig.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from kpolicy.cluster.limits import MESSAGE_CHARACTERS_MAX
from kpolicy.diagnostics import Coded

FILE_MISSING: Final = "KPC101"
FILE_UNREADABLE: Final = "KPC102"
FILE_MALFORMED: Final = "KPC103"
NO_CURRENT_CONTEXT: Final = "KPC104"
NAME_UNKNOWN: Final = "KPC105"
SERVER_INVALID: Final = "KPC106"
AUTHORITY_UNREADABLE: Final = "KPC107"
CERTIFICATE_UNREADABLE: Final = "KPC108"
TOKEN_UNREADABLE: Final = "KPC109"  # noqa: S105 - a code, no token
EXEC_MISSING: Final = "KPC110"
EXEC_FAILED: Final = "KPC111"
AUTH_PROVIDER_FAILED: Final = "KPC112"
NOTHING_CONFIGURED: Final = "KPC113"
IN_CLUSTER_INCOMPLETE: Final = "KPC114"
REFUSED: Final = "KPC201"
NAME_NOT_RESOLVED: Final = "KPC202"
TLS_FAILED: Final = "KPC203"
UNAUTHORIZED: Final = "KPC204"
FORBIDDEN: Final = "KPC205"
TIMED_OUT: Final = "KPC206"
NOT_AN_API_SERVER: Final = "KPC207"
UNREACHABLE: Final = "KPC208"
NOT_SERVED: Final = "KPC209"
LEASE_TERMS_INVALID: Final = "KPC301"

# The meaning of each code, for `kpolicy rule CODE`. A code is never reused.
CATALOGUE: Final = {
    FILE_MISSING: "the named kubeconfig file does not exist",
    FILE_UNREADABLE: "the kubeconfig file exists but cannot be read",
    FILE_MALFORMED: "the file is not YAML, or not a kubeconfig",
    NO_CURRENT_CONTEXT: "the kubeconfig chooses no context and none was named",
    NAME_UNKNOWN: "a context, cluster or user is named that the kubeconfig does not define",
    SERVER_INVALID: "the cluster's server is missing or not an http(s) URL",
    AUTHORITY_UNREADABLE: "the certificate authority cannot be read or holds no certificate",
    CERTIFICATE_UNREADABLE: "the client certificate or its key cannot be read or do not match",
    TOKEN_UNREADABLE: "the token file cannot be read or is empty",
    EXEC_MISSING: "the credential plugin's command was not found or may not be run",
    EXEC_FAILED: "the credential plugin ran and gave no credential",
    AUTH_PROVIDER_FAILED: "the auth-provider of the kubeconfig gave no credential",
    NOTHING_CONFIGURED: "there is no kubeconfig, and this is not a pod of a cluster",
    IN_CLUSTER_INCOMPLETE: "this looks like a pod, but its service account is not mounted whole",
    REFUSED: "nothing listens at the API server's address",
    NAME_NOT_RESOLVED: "the API server's name has no address",
    TLS_FAILED: "the TLS handshake with the API server failed",
    UNAUTHORIZED: "the API server does not accept the credentials (401)",
    FORBIDDEN: "the user lacks a permission (403)",
    TIMED_OUT: "the API server did not answer in time",
    NOT_AN_API_SERVER: "something answers there, but not as a Kubernetes API server does",
    UNREACHABLE: "the API server cannot be reached",
    NOT_SERVED: "the API server does not serve a resource that is needed (404)",
    LEASE_TERMS_INVALID: "durations of leader election contradict each other",
}


@dataclass(frozen=True, slots=True)
class ConnectionProblem(Coded):
    pass


def problem(code: str, message: str, hint: str = "") -> ConnectionProblem:
    """Make a problem; message and hint become one line each."""
    return ConnectionProblem(code, one_line(message), one_line(hint))


def one_line(text: str) -> str:
    """Return text from a plugin or server as one printable line of limited length."""
    words = " ".join(text[: 4 * MESSAGE_CHARACTERS_MAX].split())
    return "".join(c if c.isprintable() else "�" for c in words[:MESSAGE_CHARACTERS_MAX])
