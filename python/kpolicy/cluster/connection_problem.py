"""Why there is no connection to an API server: a value with a code, a message and a hint.

Its reader is the person who wrote the kubeconfig.
"""

from __future__ import annotations

from typing import Final

from kpolicy.cluster.limits import MESSAGE_CHARACTERS_MAX
from kpolicy.diagnostics import Coded
from kpolicy.quick_dataclass import dataclass

# The meaning of each code, for `kpolicy rule CODE`. A code is never reused.
CATALOGUE: Final = {
    "KPC101": "the named kubeconfig file does not exist",
    "KPC102": "the kubeconfig file exists but cannot be read",
    "KPC103": "the file is not YAML, or not a kubeconfig",
    "KPC104": "the kubeconfig chooses no context and none was named",
    "KPC105": "a context, cluster or user is named that the kubeconfig does not define",
    "KPC106": "the cluster's server is missing or not an http(s) URL",
    "KPC107": "the certificate authority cannot be read or holds no certificate",
    "KPC108": "the client certificate or its key cannot be read or do not match",
    "KPC109": "the token file cannot be read or is empty",
    "KPC110": "the credential plugin's command was not found or may not be run",
    "KPC111": "the credential plugin ran and gave no credential",
    "KPC112": "the auth-provider of the kubeconfig gave no credential",
    "KPC113": "there is no kubeconfig, and this is not a pod of a cluster",
    "KPC114": "this looks like a pod, but its service account is not mounted whole",
    "KPC201": "nothing listens at the API server's address",
    "KPC202": "the API server's name has no address",
    "KPC203": "the TLS handshake with the API server failed",
    "KPC204": "the API server does not accept the credentials (401)",
    "KPC205": "the user lacks a permission (403)",
    "KPC206": "the API server did not answer in time",
    "KPC207": "something answers there, but not as a Kubernetes API server does",
    "KPC208": "the API server cannot be reached",
    "KPC209": "the API server does not serve a resource that is needed (404)",
    "KPC301": "durations of leader election contradict each other",
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
