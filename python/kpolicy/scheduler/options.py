"""The settings of a running scheduler besides its policies, and how a ConfigMap is named in them.

Values were checked where they came from, except for what `Options.checked` looks at.
"""

from __future__ import annotations

import ipaddress
import re
from dataclasses import asdict, dataclass
from typing import Final

from kpolicy.cluster.connection_problem import ConnectionProblem
from kpolicy.cluster.lease_record import LeaseTerms
from kpolicy.cluster.limits import LEASE_DURATION_S, LEASE_RENEW_DEADLINE_S, LEASE_RETRY_S
from kpolicy.scheduler import limits
from kpolicy.scheduler.problem_codes import OPTION_INVALID, TOKENS_IN_THE_CLEAR, Problem
from kpolicy.telemetry.access import KINDS, NONE, TOKEN, is_loopback

PORT_DEFAULT: Final = 10259  # kube-scheduler's
PORT_MAX: Final = 65535
SEED_MAX: Final = 2**64 - 1
# RFC 1123: a label for namespaces, a subdomain for names; a host may be named as a subdomain too.
_LABEL: Final = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
_SUBDOMAIN: Final = re.compile(rf"(?=.{{1,253}}\Z){_LABEL.pattern}(\.{_LABEL.pattern})*")
LEASE_NAMESPACE_OUTSIDE: Final = "kube-system"  # where we are no pod with a namespace


@dataclass(frozen=True, slots=True)
class Options:
    """`port` 0: no server. `seed` None: by chance. `once`: stop when no pod can be placed now."""

    bind_address: str = "127.0.0.1"
    port: int = PORT_DEFAULT
    leader_elect: bool = True
    lease_namespace: str = LEASE_NAMESPACE_OUTSIDE
    lease_name: str = "kpolicy"
    lease_duration_s: float = LEASE_DURATION_S
    lease_renew_deadline_s: float = LEASE_RENEW_DEADLINE_S
    lease_retry_s: float = LEASE_RETRY_S
    seed: int | None = None
    once: bool = False
    binds_in_flight_max: int = limits.BINDS_IN_FLIGHT_MAX
    auth: str = NONE
    auth_token_file: str = ""
    tls_cert_file: str = ""
    tls_private_key_file: str = ""

    def checked(self) -> Problem | None:
        if not 0 <= self.port <= PORT_MAX:
            return _invalid(f"port {self.port} is not between 0 and {PORT_MAX}")
        if self.seed is not None and not 0 <= self.seed <= SEED_MAX:
            return _invalid(f"seed {self.seed} is not between 0 and {SEED_MAX}")
        if not _LABEL.fullmatch(self.lease_namespace):
            return _invalid(f"--lease-namespace={self.lease_namespace} is no name of a namespace")
        if not _SUBDOMAIN.fullmatch(self.lease_name):
            return _invalid(f"--lease-name={self.lease_name} is no name of a Lease")
        if self.binds_in_flight_max < 1:
            return _invalid("binds in flight must be at least 1")
        wrong = self._serving_checked()
        if wrong is not None:
            return wrong
        terms = self.lease_terms()
        return _invalid(terms.message) if isinstance(terms, ConnectionProblem) else None

    def _serving_checked(self) -> Problem | None:
        if self.auth not in KINDS:
            return _invalid(f"--auth={self.auth} is none of {', '.join(KINDS)}")
        if not _is_address(self.bind_address):
            return _invalid(f"--bind-address={self.bind_address} is neither an address nor a host")
        if bool(self.tls_cert_file) != bool(self.tls_private_key_file):
            return _invalid("--tls-cert-file and --tls-private-key-file go together")
        if (self.auth == TOKEN) != bool(self.auth_token_file):
            return _invalid("--auth=token and --auth-token-file go together")
        is_clear = not self.tls_cert_file and not is_loopback(self.bind_address)
        if self.auth != NONE and is_clear and self.port:
            text = f"--auth={self.auth} on {self.bind_address} needs TLS"
            hint = "give --tls-cert-file and --tls-private-key-file, or --bind-address=127.0.0.1"
            return Problem(TOKENS_IN_THE_CLEAR, text, hint)
        return None

    def lease_terms(self) -> LeaseTerms | ConnectionProblem:
        return LeaseTerms.checked(
            self.lease_duration_s, self.lease_renew_deadline_s, self.lease_retry_s
        )

    def shown(self) -> dict[str, object]:
        """For /configz; nothing here is secret."""
        return asdict(self)


def _is_address(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return _SUBDOMAIN.fullmatch(text) is not None
    return True


def _invalid(message: str) -> Problem:
    return Problem(OPTION_INVALID, message, "see kpolicy run --help")


# RFC 1123: a label for namespaces, a subdomain for names; keys of ConfigMaps have their own rule.
_NAMESPACE: Final = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
_NAME: Final = re.compile(r"[a-z0-9]([-.a-z0-9]{0,251}[a-z0-9])?")
_KEY: Final = re.compile(r"[-._a-zA-Z0-9]{1,253}")


@dataclass(frozen=True, slots=True)
class ConfigMapName:
    """`key` empty: every key that can carry what is looked for."""

    namespace: str
    name: str
    key: str = ""

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}" + (f"#{self.key}" if self.key else "")

    @property
    def shown(self) -> str:
        return f"ConfigMap {self.namespace}/{self.name}"

    @property
    def collection(self) -> str:
        return f"/api/v1/namespaces/{self.namespace}/configmaps"

    @property
    def path(self) -> str:
        return f"{self.collection}/{self.name}"

    def beside(self, suffix: str) -> ConfigMapName:
        """Another one in the same namespace, named after this one."""
        return ConfigMapName(self.namespace, f"{self.name}{suffix}")


def config_map_name(written: str, own_namespace: str, flag: str) -> ConfigMapName | Problem:
    """A name without a namespace is in our own."""
    whole, _, key = written.partition("#")
    namespace, slash, name = whole.rpartition("/")
    namespace = namespace if slash else own_namespace
    fits = _NAMESPACE.fullmatch(namespace) and _NAME.fullmatch(name)
    if fits and (_KEY.fullmatch(key) or "#" not in written):
        return ConfigMapName(namespace, name, key)
    message = f"{flag}: `{written}` names no ConfigMap"
    return Problem(OPTION_INVALID, message, "write NAMESPACE/NAME, or NAMESPACE/NAME#KEY")
