"""The settings of a running scheduler: options, names of ConfigMaps, and the file of `--config`.

`SchedulerConfiguration` is that file: a key is a flag's name in camelCase, and mistakes are
diagnostics as in policies. Other values are checked where they came from, or by `Options.checked`.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Annotated, Any, Final, Literal

from pydantic import AfterValidator, Field

from kpolicy.api_times import NANOSECONDS
from kpolicy.cluster.connection_problem import ConnectionProblem
from kpolicy.cluster.lease_record import LeaseTerms
from kpolicy.cluster.limits import LEASE_DURATION_S, LEASE_RENEW_DEADLINE_S, LEASE_RETRY_S
from kpolicy.diagnostics import Diagnostic, Span
from kpolicy.engine_threads import ENGINE_THREADS_MAX
from kpolicy.journal.disk_size import bytes_of
from kpolicy.journal.limits import DISK_BYTES, DISK_BYTES_MIN
from kpolicy.plugins.limits import CALL_S
from kpolicy.policy.authority import extender_hosts
from kpolicy.policy.codes.registry import remark
from kpolicy.policy.document_kinds import is_of_kind, none_of_kind
from kpolicy.policy.limits import (
    QUEUE_SECONDS_MAX,
    QUEUE_SECONDS_MIN,
    TENANT_WEIGHT_DEFAULT,
    WEIGHT_MAX,
)
from kpolicy.policy.models.scheduling_policy import FollowedRelease
from kpolicy.policy.models.validation import Edge, NonEmpty, refuse, validated
from kpolicy.policy.yaml.nodes import Node, Scalar, key_at
from kpolicy.policy.yaml.source import Source, SourceText, placed
from kpolicy.policy.yaml.tree_reader import read_documents
from kpolicy.scheduler import limits
from kpolicy.scheduler.extenders.pod_fields import ALL, pod_fields
from kpolicy.scheduler.loop.queued_pod import QueuePeriods
from kpolicy.scheduler.problem_codes import Problem
from kpolicy.telemetry.access import KINDS, NONE, TOKEN, is_loopback
from kpolicy.telemetry.limits import TRACES_PER_SECOND_MAX

PORT_DEFAULT: Final = 10259  # kube-scheduler's port
PORT_MAX: Final = 65535
# More requests at once than one API server serves at the highest level of priority.
BINDS_IN_FLIGHT_CONFIGURED_MAX: Final = 1024
SECONDS_MIN: Final = QUEUE_SECONDS_MIN
SECONDS_MAX: Final = QUEUE_SECONDS_MAX
_BINDS_ALLOWED: Final = f"between 1 and {BINDS_IN_FLIGHT_CONFIGURED_MAX:,}"
_SECONDS_ALLOWED: Final = f"between {SECONDS_MIN} and {SECONDS_MAX:,} seconds"
_CALLS_ALLOWED: Final = (
    f"between {limits.PLUGIN_CALL_S_MIN} and {limits.PLUGIN_CALL_S_MAX:,.0f} seconds"
)
SEED_MAX: Final = 2**64 - 1
# RFC 1123: a label for namespaces, a subdomain for names; a host may be named as a subdomain too.
_LABEL: Final = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
_SUBDOMAIN: Final = re.compile(rf"(?=.{{1,253}}\Z){_LABEL.pattern}(\.{_LABEL.pattern})*")
LEASE_NAMESPACE_OUTSIDE: Final = "kube-system"  # if this process is not a pod


@dataclass(frozen=True, slots=True)
class Options:
    """`port` 0 starts no server. `seed` None chooses at random. `engine_threads` None: as many as
    the process may use processors. `once`: stop when no pod can be placed now. `journal`: a folder;
    empty: none is written."""

    bind_address: str = "127.0.0.1"
    port: int = PORT_DEFAULT
    leader_elect: bool = True
    lease_namespace: str = LEASE_NAMESPACE_OUTSIDE
    lease_name: str = "kpolicy"
    lease_duration_s: float = LEASE_DURATION_S
    lease_renew_deadline_s: float = LEASE_RENEW_DEADLINE_S
    lease_retry_s: float = LEASE_RETRY_S
    seed: int | None = None
    engine_threads: int | None = None
    once: bool = False
    binds_in_flight_max: int = limits.BINDS_IN_FLIGHT_MAX
    pod_initial_backoff_s: float = limits.BACKOFF_INITIAL_NS / NANOSECONDS
    pod_max_backoff_s: float = limits.BACKOFF_NS_MAX / NANOSECONDS
    flush_after_s: float = limits.PARKED_NS_MAX / NANOSECONDS
    flush_period_s: float = limits.FLUSH_PERIOD_S
    auth: str = NONE
    auth_token_file: str = ""
    tls_cert_file: str = ""
    tls_private_key_file: str = ""
    extender_pod_fields: tuple[str, ...] = (ALL,)
    plugin_timeout_s: float = CALL_S
    journal: str = ""
    journal_bytes_max: int = DISK_BYTES

    def checked(self) -> Problem | None:
        terms = self.lease_terms()
        for is_wrong, message in (
            (not 0 <= self.port <= PORT_MAX, f"port {self.port} is not between 0 and {PORT_MAX}"),
            (
                self.seed is not None and not 0 <= self.seed <= SEED_MAX,
                f"seed {self.seed} is not between 0 and {SEED_MAX}",
            ),
            (
                self.engine_threads is not None
                and not 1 <= self.engine_threads <= ENGINE_THREADS_MAX,
                f"--engine-threads={self.engine_threads} is not between 1 and {ENGINE_THREADS_MAX}",
            ),
            (
                not _LABEL.fullmatch(self.lease_namespace),
                f"--lease-namespace={self.lease_namespace} is not a valid name of a namespace",
            ),
            (
                not _SUBDOMAIN.fullmatch(self.lease_name),
                f"--lease-name={self.lease_name} is not a valid name of a Lease",
            ),
            (
                not 1 <= self.binds_in_flight_max <= BINDS_IN_FLIGHT_CONFIGURED_MAX,
                f"--binds-in-flight={self.binds_in_flight_max} is not {_BINDS_ALLOWED}",
            ),
            *self._wrong_periods(),
            (
                not limits.PLUGIN_CALL_S_MIN <= self.plugin_timeout_s <= limits.PLUGIN_CALL_S_MAX,
                f"--plugin-timeout={self.plugin_timeout_s:g} is not {_CALLS_ALLOWED}",
            ),
            (
                self.journal_bytes_max < DISK_BYTES_MIN,
                f"--journal-size={self.journal_bytes_max} is less than {DISK_BYTES_MIN:,} bytes",
            ),
            (self.auth not in KINDS, f"--auth={self.auth} is not one of {', '.join(KINDS)}"),
            (
                not _is_address(self.bind_address),
                f"--bind-address={self.bind_address} is neither an address nor the name of a host",
            ),
            (
                bool(self.tls_cert_file) != bool(self.tls_private_key_file),
                "--tls-cert-file and --tls-private-key-file go together",
            ),
            (
                (self.auth == TOKEN) != bool(self.auth_token_file),
                "--auth=token and --auth-token-file go together",
            ),
        ):
            if is_wrong:
                return _invalid(message)
        is_clear = not self.tls_cert_file and not is_loopback(self.bind_address)
        if self.auth != NONE and self.port and is_clear:
            text = f"--auth={self.auth} on {self.bind_address} needs TLS"
            hint = "give --tls-cert-file and --tls-private-key-file, or --bind-address=127.0.0.1"
            return Problem("KPS207", text, hint)
        return _invalid(terms.message) if isinstance(terms, ConnectionProblem) else None

    def _wrong_periods(self) -> Iterator[tuple[bool, str]]:
        """For each period whether it is wrong, and what is wrong with it."""
        for flag, seconds in (
            ("pod-initial-backoff", self.pod_initial_backoff_s),
            ("pod-max-backoff", self.pod_max_backoff_s),
            ("flush-after", self.flush_after_s),
            ("flush-period", self.flush_period_s),
        ):
            is_wrong = not SECONDS_MIN <= seconds <= SECONDS_MAX
            yield is_wrong, f"--{flag}={seconds:g} is not {_SECONDS_ALLOWED}"
        first, longest = self.pod_initial_backoff_s, self.pod_max_backoff_s
        yield longest < first, f"--pod-max-backoff={longest:g} is less than the first, {first:g}"

    def lease_terms(self) -> LeaseTerms | ConnectionProblem:
        return LeaseTerms.checked(
            self.lease_duration_s, self.lease_renew_deadline_s, self.lease_retry_s
        )

    def queue_periods(self) -> QueuePeriods:
        return QueuePeriods(
            round(self.pod_initial_backoff_s * NANOSECONDS),
            round(self.pod_max_backoff_s * NANOSECONDS),
            round(self.flush_after_s * NANOSECONDS),
            self.flush_period_s,
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
    return Problem("KPS202", message, "see kpolicy run --help")


# RFC 1123: a label for namespaces, a subdomain for names; keys of ConfigMaps have their own rule.
_NAME: Final = re.compile(r"[a-z0-9]([-.a-z0-9]{0,251}[a-z0-9])?")
_KEY: Final = re.compile(r"[-._a-zA-Z0-9]{1,253}")
_LABEL_KEY: Final = re.compile(
    rf"(?:{_SUBDOMAIN.pattern}/)?[A-Za-z0-9](?:[-._A-Za-z0-9]{{0,61}}[A-Za-z0-9])?"
)


@dataclass(frozen=True, slots=True)
class ConfigMapName:
    """An empty `key` means every key whose name has a suffix of policies."""

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
        """Another ConfigMap in the same namespace, named after this one."""
        return ConfigMapName(self.namespace, f"{self.name}{suffix}")


def config_map_name(written: str, own_namespace: str, flag: str) -> ConfigMapName | Problem:
    """A name without a namespace is in kpolicy's own namespace."""
    whole, _, key = written.partition("#")
    namespace, slash, name = whole.rpartition("/")
    namespace = namespace if slash else own_namespace
    fits = _LABEL.fullmatch(namespace) and _NAME.fullmatch(name)
    if fits and (_KEY.fullmatch(key) or "#" not in written):
        return ConfigMapName(namespace, name, key)
    message = f"{flag}: `{written}` names no ConfigMap"
    return Problem("KPS202", message, "write NAMESPACE/NAME, or NAMESPACE/NAME#KEY")


def checked_tenant_label(label: str) -> Problem | None:
    if not label or _LABEL_KEY.fullmatch(label):
        return None
    message = f"--tenant-label: `{label}` is not the key of a label"
    return Problem("KPS202", message, "for example --tenant-label=example.com/team")


@dataclass(frozen=True, slots=True)
class TenantSettings:
    """`config_map` is the name of the ConfigMap that holds a tenant's policies in each of its
    namespaces. `label`: a tenant is a value of this label of namespaces; empty: a namespace."""

    config_map: str
    label: str = ""
    weight: int = TENANT_WEIGHT_DEFAULT

    def checked(self) -> Problem | None:
        if not _NAME.fullmatch(self.config_map):
            message = f"--tenant-configmap: `{self.config_map}` names no ConfigMap"
            return Problem("KPS202", message, "write its name, without a namespace")
        if (problem := checked_tenant_label(self.label)) is not None:
            return problem
        if not 0 <= self.weight <= WEIGHT_MAX:
            return _invalid(f"--tenant-weight={self.weight} is not between 0 and {WEIGHT_MAX}")
        return None


KIND: Final = "SchedulerConfiguration"
# For `policyStatus`: write no status, keep no last good policy.
NO_STATUS: Final = "none"


def _config_map(written: str) -> str:
    name = config_map_name(written, "default", "")
    if isinstance(name, Problem) and written != NO_STATUS:
        refuse("KP113", f"`{written}` names no ConfigMap", hint=name.hint)
    return written


ConfigMapText = Annotated[str, AfterValidator(_config_map)]


def _hosts(written: list[str]) -> list[str]:
    try:
        extender_hosts(written)
    except ValueError as error:
        refuse("KP113", str(error))
    return written


def _pod_fields(written: list[str]) -> list[str]:
    try:
        pod_fields(written)
    except ValueError as error:
        refuse("KP113", str(error))
    return written


def _size(written: str) -> str:
    try:
        bytes_of(written)
    except ValueError as error:
        refuse("KP113", str(error))
    return written


SizeText = Annotated[str, AfterValidator(_size)]
HostTexts = Annotated[list[str], Field(min_length=1), AfterValidator(_hosts)]
PodFieldTexts = Annotated[list[str], Field(min_length=1), AfterValidator(_pod_fields)]


Seconds = Annotated[float, Field(ge=SECONDS_MIN, le=SECONDS_MAX)]
PluginSeconds = Annotated[float, Field(ge=limits.PLUGIN_CALL_S_MIN, le=limits.PLUGIN_CALL_S_MAX)]


class SchedulerConfiguration(Edge):
    """The settings of `kpolicy run`, in a file."""

    api_version: Literal["kpolicy.dev/v1alpha1"] = Field(description="The version of the format.")
    kind: Literal["SchedulerConfiguration"] = Field(description="The kind of the document.")
    policy: list[NonEmpty] | None = Field(
        None, description="Files and folders of policies, and names of shipped ones."
    )
    policy_configmap: ConfigMapText | None = Field(
        None, description="The ConfigMap with the policies: NAMESPACE/NAME, or with #KEY."
    )
    policy_status: ConfigMapText | None = Field(
        None, description="The ConfigMap for the status of policies: NAMESPACE/NAME, or `none`."
    )
    policy_cache: NonEmpty | None = Field(None, description="A folder for the last good policy.")
    scheduler_names: Annotated[list[NonEmpty], Field(min_length=1)] | None = Field(
        None, description="Policies may serve pods of these names."
    )
    extender_hosts: HostTexts | None = Field(
        None, description="HOST:PORT of extenders; `[none]` and `[any]` too."
    )
    certificate_folder: NonEmpty | None = Field(
        None, description="The folder of certificate files that policies may name."
    )
    extender_pod_fields: PodFieldTexts | None = Field(
        None, description="Of env, args, annotations; `[all]` and `[none]` too."
    )
    tenant_configmap: NonEmpty | None = Field(
        None, description="The name of the ConfigMap with a tenant's policies, in each namespace."
    )
    tenant_label: NonEmpty | None = Field(
        None,
        description="A tenant is a value of this label of namespaces, for the policies of tenants "
        "and for the queue; default: a namespace, or what the policy says.",
    )
    tenant_weight: Annotated[int, Field(ge=0, le=WEIGHT_MAX)] | None = Field(
        None, description="What the priorities of a tenant may weigh together."
    )
    release: FollowedRelease | None = Field(
        None, description="Decide as this release of Kubernetes; `auto` is the cluster's."
    )
    feature_gates: dict[str, bool] | None = Field(
        None, description="Feature gates of kube-scheduler that are not as the release has them."
    )
    shadow_policy: list[NonEmpty] | None = Field(
        None, description="Files and folders of policies that are judged beside the ones in force."
    )
    shadow_policy_configmap: ConfigMapText | None = Field(
        None, description="NAMESPACE/NAME of such policies, or with #KEY."
    )
    params: dict[str, Any] | None = Field(None, description="Values of params, by name.")
    plugin: list[NonEmpty] | None = Field(
        None, description="Classes of plugins in Python, each as MODULE:CLASS."
    )
    plugin_timeout: PluginSeconds | None = Field(
        None, description="How long one call of a plugin may take, in seconds."
    )
    kubeconfig: NonEmpty | None = Field(
        None, description="The file that says how the API server is reached."
    )
    context: NonEmpty | None = Field(None, description="The context of the kubeconfig.")
    seed: Annotated[int, Field(ge=0, le=2**64 - 1)] | None = Field(
        None, description="The number by which one of several equally good nodes is chosen."
    )
    engine_threads: Annotated[int, Field(ge=1, le=ENGINE_THREADS_MAX)] | None = Field(
        None, description="How many threads decide. Default: as many as there are processors."
    )
    once: bool | None = Field(None, description="True: stop when no pod can be placed now.")
    bind_address: NonEmpty | None = Field(
        None, description="The address of the server of health and metrics."
    )
    port: Annotated[int, Field(ge=0, le=65535)] | None = Field(
        None, description="The port of the server of health and metrics; 0 starts none."
    )
    tls_cert_file: NonEmpty | None = Field(
        None, description="The server's certificate; the server then speaks https."
    )
    tls_private_key_file: NonEmpty | None = Field(
        None, description="The key of the server's certificate."
    )
    auth: Literal["none", "token", "delegated"] | None = Field(
        None,
        description="Who may read health and metrics: all, who has a token, or whom the API "
        "server lets.",
    )
    auth_token_file: NonEmpty | None = Field(
        None, description="The file with the token of `auth: token`."
    )
    leader_elect: bool | None = Field(
        None, description="False: schedule without the lease, as the only replica."
    )
    lease_namespace: NonEmpty | None = Field(None, description="The namespace of the lease.")
    lease_name: NonEmpty | None = Field(None, description="The name of the lease.")
    lease_duration: Seconds | None = Field(
        None, description="How long a lease is valid that is not renewed, in seconds."
    )
    lease_renew_deadline: Seconds | None = Field(
        None, description="How long the leader tries to renew it, in seconds."
    )
    lease_retry_period: Seconds | None = Field(
        None, description="How long it waits between two attempts, in seconds."
    )
    pod_initial_backoff: Seconds | None = Field(
        None, description="The first back-off of a pod that did not fit, in seconds."
    )
    pod_max_backoff: Seconds | None = Field(None, description="The longest back-off, in seconds.")
    flush_after: Seconds | None = Field(
        None, description="After how long a pod that no event wakes is tried again, in seconds."
    )
    flush_period: Seconds | None = Field(None, description="How often that is checked, in seconds.")
    binds_in_flight: Annotated[int, Field(ge=1, le=BINDS_IN_FLIGHT_CONFIGURED_MAX)] | None = Field(
        None, description="How many binds wait for an answer at a time."
    )
    journal: NonEmpty | None = Field(
        None, description="A folder for the journal of everything that decisions rest on."
    )
    journal_size: SizeText | None = Field(
        None, description="How large the journal may become, such as 10Gi."
    )
    log_format: Literal["auto", "json", "text"] | None = Field(
        None, description="auto: text on a terminal, otherwise JSON."
    )
    log_level: Literal["debug", "info", "warning", "error"] | None = Field(
        None, description="The least level of what is logged."
    )
    traces_per_second: Annotated[int, Field(ge=0, le=TRACES_PER_SECOND_MAX)] | None = Field(
        None, description="How many traces of ordinary decisions are kept in a second."
    )
    kept_traces_per_second: Annotated[int, Field(ge=0, le=TRACES_PER_SECOND_MAX)] | None = Field(
        None, description="How many traces that are always kept there are in a second at most."
    )


@dataclass(frozen=True, slots=True)
class ReadConfigurations:
    """`others` are the sources with other documents, or without a SchedulerConfiguration."""

    configurations: tuple[SchedulerConfiguration, ...]
    diagnostics: tuple[Diagnostic, ...]
    texts: tuple[SourceText, ...]
    others: tuple[Source, ...]


def read_configurations(sources: Sequence[Source]) -> ReadConfigurations:
    """Reads every SchedulerConfiguration in the sources. Other documents are ignored."""
    models: list[SchedulerConfiguration] = []
    diagnostics: list[Diagnostic] = []
    texts: list[SourceText] = []
    others: list[Source] = []
    for source in sources:
        read = read_documents(source)
        roots = [root for root in read.roots if is_of_kind(root, KIND)]
        empty = [root for root in read.roots if isinstance(root, Scalar) and root.value is None]
        if not roots or len(roots) + len(empty) < len(read.roots):
            others.append(source)
        if not roots:
            continue
        texts.append(read.text)
        if source not in others:
            diagnostics += [placed(read.text, diagnostic) for diagnostic in read.diagnostics]
        for root in roots:
            model, _, findings = validated(SchedulerConfiguration, root)
            found = [
                placed(read.text, diagnostic) for diagnostic in (*findings, *_contradictions(root))
            ]
            # `lint --fix` corrects only policies.
            diagnostics += [
                replace(diagnostic, fix=None) for diagnostic in sorted(found, key=_position)
            ]
            models += [model] if model is not None else []
    return ReadConfigurations(tuple(models), tuple(diagnostics), tuple(texts), tuple(others))


def read_configuration(source: Source) -> tuple[SchedulerConfiguration | None, list[Diagnostic]]:
    """The SchedulerConfiguration of a file that the user has named as one."""
    read = read_configurations([source])
    diagnostics = list(read.diagnostics)
    if not read.texts:
        documents = read_documents(source)
        diagnostics += [placed(documents.text, diagnostic) for diagnostic in documents.diagnostics]
        missing = placed(documents.text, none_of_kind(documents.roots, KIND))
        diagnostics += [missing] if not diagnostics else []
    if len(read.configurations) > 1:
        first = Span(0, 1)
        message = f"{len(read.configurations)} documents of this kind are in one file"
        diagnostics.append(placed(read.texts[0], remark("KP104", message, first, hint="keep one")))
    return (read.configurations[0] if read.configurations else None), diagnostics


def _position(diagnostic: Diagnostic) -> tuple[int, int]:
    return (
        (diagnostic.place.line, diagnostic.place.column) if diagnostic.place is not None else (0, 0)
    )


def _contradictions(root: Node) -> list[Diagnostic]:
    diagnostics = []
    for first, second_key in (
        ("policy", "policyConfigmap"),
        ("shadowPolicy", "shadowPolicyConfigmap"),
    ):
        second = key_at(root, (second_key,))
        if key_at(root, (first,)) is not None and second is not None:
            message = f"`{first}` and `{second_key}` are given: policies come from one of them"
            diagnostics.append(
                remark("KP115", message, second.span, hint="leave one out", field=second_key)
            )
    return diagnostics
