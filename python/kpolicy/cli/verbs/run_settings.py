"""The settings of `kpolicy run`, their defaults, and where a value comes from: flag, `KPOLICY_*`
variable, file or default.
"""

from __future__ import annotations

import argparse
import sys
from argparse import BooleanOptionalAction
from collections.abc import Callable, Iterator, Mapping
from dataclasses import MISSING, asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, Final

from kpolicy.api_times import NANOSECONDS
from kpolicy.cli.findings_text import Findings, concise
from kpolicy.cli.verb import (
    FEATURE_GATES_HELP,
    RELEASE_HELP,
    Argument,
    CannotWorkError,
    argument,
    feature_gates,
    params_of,
    release,
)
from kpolicy.cli.verbs.setting_values import (
    classes,
    field_names,
    hosts,
    names,
    paths,
    rate,
    seconds,
    size,
    whole,
    yes_or_no,
)
from kpolicy.cluster.limits import LEASE_DURATION_S, LEASE_RENEW_DEADLINE_S, LEASE_RETRY_S
from kpolicy.diagnostics import has_errors
from kpolicy.plugins.limits import CALL_S
from kpolicy.policy.limits import TENANT_WEIGHT_DEFAULT
from kpolicy.policy.yaml.source import Source
from kpolicy.regular_files import read_file
from kpolicy.scheduler.limits import (
    BACKOFF_INITIAL_NS,
    BACKOFF_NS_MAX,
    BINDS_IN_FLIGHT_MAX,
    FLUSH_PERIOD_S,
    PARKED_NS_MAX,
)
from kpolicy.telemetry.limits import (
    KEPT_TRACES_PER_SECOND,
    TRACES_PER_SECOND,
)


def _flag(read: Callable[[str], Any], text: str = "", **more: Any) -> dict[str, Any]:
    return {"read": read, "help": text, **more}


@dataclass(frozen=True, slots=True)
class RunSettings:
    """In the order in which `--help` shows them."""

    policy: tuple[Path, ...] = field(
        default=(),
        metadata=_flag(
            paths,
            "a policy, or a folder of them; repeatable (default: kube-scheduler-default)",
            metavar="FILE|DIR",
        ),
    )
    policy_configmap: str = field(
        default="",
        metadata=_flag(
            str,
            "read policies from a ConfigMap, and watch it; NAME alone is in kpolicy's own"
            " namespace, NAME#KEY is one key of it",
            metavar="NS/NAME",
        ),
    )
    policy_status: str = field(
        default="",
        metadata=_flag(
            str,
            "the ConfigMap in which kpolicy keeps the status of the policy and the last good"
            " policy, or `none` (default: NAME-status beside the policy's ConfigMap NAME)",
            metavar="NS/NAME",
        ),
    )
    policy_cache: Path | None = field(
        default=None,
        metadata=_flag(
            Path, "a folder in which kpolicy also keeps the last good policy", metavar="DIR"
        ),
    )
    scheduler_names: tuple[str, ...] = field(
        default=(),
        metadata=_flag(
            names,
            "policies may serve pods of these schedulerNames and no others; needed with"
            " --policy-configmap (default for files: any)",
            metavar="NAME,…",
        ),
    )
    extender_hosts: tuple[str, ...] = field(
        default=(),
        metadata=_flag(
            hosts,
            "policies may name extenders at these addresses and no others; or `none`, or `any`"
            " (default: any for files, none for ConfigMaps)",
            metavar="HOST:PORT,…",
        ),
    )
    certificate_folder: Path | None = field(
        default=None,
        metadata=_flag(
            Path,
            "policies may name certificate files in this folder and no others (default: any file"
            " for policies in files, none for ConfigMaps)",
            metavar="DIR",
        ),
    )
    extender_pod_fields: tuple[str, ...] = field(
        default=("all",),
        metadata=_flag(
            field_names,
            "of env, args and annotations, the fields of pods that extenders get; or `all`, or"
            " `none` (default: all)",
            metavar="FIELD,…",
        ),
    )
    tenant_configmap: str = field(
        default="",
        metadata=_flag(
            str,
            "in every namespace, read the policies of a tenant from the ConfigMap of this name;"
            " they add rules for the tenant's pods to the operator's policies",
            metavar="NAME",
        ),
    )
    tenant_label: str = field(
        default="",
        metadata=_flag(
            str,
            "namespaces with the same value of this label are one tenant, for the policies of"
            " tenants and for the queue (default: each namespace is a tenant; for the queue, what"
            " the policy says)",
            metavar="KEY",
        ),
    )
    tenant_weight: int = field(
        default=TENANT_WEIGHT_DEFAULT,
        metadata=_flag(whole, "the priorities of a tenant may weigh so much together", metavar="N"),
    )
    release: str = field(default="", metadata=_flag(release, RELEASE_HELP, metavar="1.N"))
    feature_gates: Mapping[str, bool] = field(
        default_factory=dict,
        metadata=_flag(feature_gates, FEATURE_GATES_HELP, metavar="NAME=BOOL,…"),
    )
    shadow_policy: tuple[Path, ...] = field(
        default=(),
        metadata=_flag(
            paths,
            "a policy to compare with the one in force; it binds no pod; repeatable",
            metavar="FILE|DIR",
        ),
    )
    shadow_policy_configmap: str = field(
        default="",
        metadata=_flag(
            str, "read the shadow policy from a ConfigMap, and watch it", metavar="NS/NAME"
        ),
    )
    kubeconfig: Path | None = field(
        default=None, metadata=_flag(Path, "the kubeconfig file", metavar="FILE")
    )
    context: str | None = field(
        default=None, metadata=_flag(str, "the context of the kubeconfig", metavar="NAME")
    )
    seed: int | None = field(
        default=None, metadata=_flag(whole, "choose among equal scores in the same way each time")
    )
    engine_threads: int | None = field(
        default=None,
        metadata=_flag(
            whole,
            "how many threads decide (default: as many as this process may use processors); their"
            " number changes no decision",
            metavar="N",
        ),
    )
    once: bool = field(
        default=False, metadata=_flag(yes_or_no, "place the pods that fit now, then stop")
    )
    bind_address: str = field(
        default="127.0.0.1",
        metadata=_flag(str, "the address that serves /metrics and /healthz", metavar="ADDRESS"),
    )
    port: int = field(
        default=10259, metadata=_flag(whole, "the port of that address; 0 serves nothing")
    )
    tls_cert_file: Path | None = field(
        default=None,
        metadata=_flag(
            Path, "the certificate (PEM) for that port; read again when it changes", metavar="FILE"
        ),
    )
    tls_private_key_file: Path | None = field(
        default=None, metadata=_flag(Path, "the private key of that certificate", metavar="FILE")
    )
    auth: str = field(
        default="none",
        metadata=_flag(
            str,
            "who may read the pages besides health: none (clients on this machine), token (clients"
            " with the token of --auth-token-file), delegated (users whom the cluster's RBAC allows"
            " it)",
            choices=("none", "token", "delegated"),
        ),
    )
    auth_token_file: Path | None = field(
        default=None,
        metadata=_flag(Path, "a file with the token; read again for each request", metavar="FILE"),
    )
    leader_elect: bool = field(
        default=True,
        metadata=_flag(
            yes_or_no, "schedule only while holding a Lease, so that only one replica does"
        ),
    )
    lease_namespace: str = field(
        default="",
        metadata=_flag(
            str,
            "the namespace of the Lease (default: the pod's own namespace, else kube-system)",
            metavar="NAMESPACE",
        ),
    )
    lease_name: str = field(
        default="kpolicy", metadata=_flag(str, "the name of the Lease", metavar="NAME")
    )
    lease_duration: float = field(
        default=LEASE_DURATION_S,
        metadata=_flag(
            seconds,
            "a replica that did not renew the Lease for so long lost it",
            metavar="SECONDS",
        ),
    )
    lease_renew_deadline: float = field(
        default=LEASE_RENEW_DEADLINE_S,
        metadata=_flag(
            seconds,
            "the leader gives up after trying to renew it for so long",
            metavar="SECONDS",
        ),
    )
    lease_retry_period: float = field(
        default=LEASE_RETRY_S,
        metadata=_flag(seconds, "the time between two tries to hold the Lease", metavar="SECONDS"),
    )
    pod_initial_backoff: float = field(
        default=BACKOFF_INITIAL_NS / NANOSECONDS,
        metadata=_flag(
            seconds, "how long a pod waits after the first attempt that failed", metavar="SECONDS"
        ),
    )
    pod_max_backoff: float = field(
        default=BACKOFF_NS_MAX / NANOSECONDS,
        metadata=_flag(
            seconds, "the wait doubles with each attempt, up to this", metavar="SECONDS"
        ),
    )
    flush_after: float = field(
        default=PARKED_NS_MAX / NANOSECONDS,
        metadata=_flag(
            seconds, "a pod that no event woke for so long is tried again", metavar="SECONDS"
        ),
    )
    flush_period: float = field(
        default=FLUSH_PERIOD_S,
        metadata=_flag(seconds, "how often kpolicy looks for such pods", metavar="SECONDS"),
    )
    binds_in_flight: int = field(
        default=BINDS_IN_FLIGHT_MAX,
        metadata=_flag(whole, "how many bind requests may be under way at once", metavar="N"),
    )
    plugin: tuple[str, ...] = field(
        default=(),
        metadata=_flag(
            classes,
            "load this plugin in Python, besides those of installed packages; repeatable",
            metavar="MODULE:CLASS,…",
        ),
    )
    plugin_timeout: float = field(
        default=CALL_S,
        metadata=_flag(seconds, "how long one call of a plugin may take", metavar="SECONDS"),
    )
    journal: Path | None = field(
        default=None,
        metadata=_flag(
            Path,
            "write a journal of everything that decisions rest on into this folder, for `kpolicy"
            " replay`",
            metavar="DIR",
        ),
    )
    journal_size: str = field(
        default="1Gi",
        metadata=_flag(
            size, "how large the journal may become; what is oldest is deleted", metavar="SIZE"
        ),
    )
    log_format: str = field(
        default="auto",
        metadata=_flag(
            str,
            "auto is text on a terminal, and JSON otherwise, one object a line",
            choices=("auto", "json", "text"),
        ),
    )
    log_level: str = field(
        default="info",
        metadata=_flag(
            str, "the lowest level that is logged", choices=("debug", "info", "warning", "error")
        ),
    )
    traces_per_second: int = field(
        default=TRACES_PER_SECOND,
        metadata=_flag(
            rate, "at most so many traces that OTEL_TRACES_SAMPLER selects", metavar="N"
        ),
    )
    kept_traces_per_second: int = field(
        default=KEPT_TRACES_PER_SECOND,
        metadata=_flag(
            rate,
            "at most so many more traces, of attempts that found no node, failed or were slow",
            metavar="N",
        ),
    )
    params: Mapping[str, Any] = field(default_factory=dict)

    def shown(self, origins: Mapping[str, str]) -> dict[str, Any]:
        """Each value and where it came from, for /configz."""
        return {
            name: {"value": _plain(value), "from": origins.get(name, "default")}
            for name, value in asdict(self).items()
        }


def _arguments() -> Iterator[Argument]:
    """A flag for each setting. A flag that is not used is None, so that other sources count."""
    for setting in fields(RunSettings):
        if not setting.metadata:
            continue
        options = dict(setting.metadata)
        read, help_, default = options.pop("read"), options.pop("help"), setting.default
        if read is yes_or_no:
            help_ = f"{help_} (default: {'yes' if default else 'no'})"
            options["action"] = BooleanOptionalAction
        elif read is paths:
            options |= {"action": "append", "type": Path}
        elif read is classes:
            options |= {"action": "extend", "type": classes}
        else:
            options["type"] = read
            if default not in ("", None, MISSING) and not isinstance(default, tuple):
                help_ = f"{help_} (default: {default})".strip()
        flag = f"--{setting.name.replace('_', '-')}"
        yield argument(flag, default=None, help=help_, **options)


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return [str(part) for part in value]
    return str(value) if isinstance(value, Path) else value


ARGUMENTS: Final = tuple(_arguments())


PREFIX: Final = "KPOLICY_"
# Variables of ours that are no settings.
_OTHER_VARIABLES: Final = frozenset({"CONFIG", "DEBUG", "PARAM"})
# Kubelet sets such values for every pod of a namespace with a Service that is called `kpolicy`.
_OF_SERVICES: Final = ("tcp://", "udp://", "sctp://")
_FILE_BYTES_MAX: Final = 1 << 20
_PATH_SETTINGS: Final = (
    "kubeconfig",
    "policy_cache",
    "journal",
    "certificate_folder",
    "tls_cert_file",
    "tls_private_key_file",
    "auth_token_file",
)
_PATH_LIST_SETTINGS: Final = ("policy", "shadow_policy")
_EXCLUSIVE: Final = (("policy", "policy_configmap"), ("shadow_policy", "shadow_policy_configmap"))
# From the weakest source to the strongest.
_ORIGINS: Final = ("file", "variable", "flag")


def settled(
    flags: Mapping[str, Any], environ: Mapping[str, str], file: Mapping[str, Any]
) -> tuple[RunSettings, dict[str, str]]:
    """The settings, and where each came from. `flags` are None where they were not used."""
    values: dict[str, Any] = {}
    origins: dict[str, str] = {}
    for origin, settings in zip(_ORIGINS, (file, _variables(environ), flags), strict=True):
        for setting in fields(RunSettings):
            value = settings.get(setting.name)
            if value is not None and value not in ([], {}):
                values[setting.name] = tuple(value) if isinstance(value, list) else value
                origins[setting.name] = origin
    for pair in _EXCLUSIVE:
        if origins.keys() >= set(pair):
            _drop_weaker(pair, values, origins)
    return RunSettings(**values), origins


def _drop_weaker(pair: tuple[str, str], values: dict[str, Any], origins: dict[str, str]) -> None:
    """Of two settings that exclude each other, the stronger source wins."""
    weaker, stronger = sorted(pair, key=lambda name: _ORIGINS.index(origins[name]))
    if origins[weaker] == origins[stronger]:
        flags = " and ".join(f"--{name.replace('_', '-')}" for name in pair)
        raise CannotWorkError(f"{flags} exclude each other: use one of them")
    del values[weaker], origins[weaker]


def unknown_variables(environ: Mapping[str, str]) -> list[str]:
    """Warnings of variables whose names are probably misspelt. Others may use our prefix too."""
    from kpolicy.diagnostics import is_slip, nearest

    known = {setting.name.upper() for setting in fields(RunSettings)} | _OTHER_VARIABLES
    warnings = []
    for variable in sorted(environ):
        name = variable.removeprefix(PREFIX)
        near = nearest(name, known) if name != variable and name not in known else ""
        if near and is_slip(name, near):
            warnings.append(
                f"kpolicy does not know the variable {variable}; did you mean `{PREFIX}{near}`?"
            )
    return warnings


def _variables(environ: Mapping[str, str]) -> dict[str, Any]:
    found: dict[str, Any] = {"params": params_of(environ.get(f"{PREFIX}PARAM", ""))}
    for setting in fields(RunSettings):
        name = PREFIX + setting.name.upper()
        text = environ.get(name, "")
        if not text or not setting.metadata or text.startswith(_OF_SERVICES):
            continue
        try:
            found[setting.name] = setting.metadata["read"](text)
        except argparse.ArgumentTypeError as error:
            raise CannotWorkError(f"{name}: {error}") from error
        choices = setting.metadata.get("choices")
        if choices and text not in choices:
            raise CannotWorkError(f"{name}: `{text}` is not one of {', '.join(choices)}")
    return found


def settings_of_file(path: Path) -> dict[str, Any]:
    """The settings of a SchedulerConfiguration by name. Paths in it are relative to its folder.
    Prints findings as `kpolicy lint` does."""
    from kpolicy.policy.document_kinds import find_documents
    from kpolicy.scheduler.options import read_configuration

    try:
        source = Source(str(path), read_file(path, _FILE_BYTES_MAX))
    except OSError as error:
        raise CannotWorkError(f"--config: {path} cannot be read: {error.strerror}") from error
    model, findings = read_configuration(source)
    if findings:
        print(concise(Findings.of(findings, ())).rstrip(), file=sys.stderr)
    if model is None or has_errors(tuple(findings)):
        hint = f"`kpolicy lint {path}` shows where"
        if model is None and find_documents([source]).documents:
            hint = f"policies and files of kube-scheduler are given with `--policy {path}`"
        raise CannotWorkError(f"KPS203: the configuration {path} has errors ({hint})")
    settings = model.model_dump(exclude_none=True, exclude={"api_version", "kind"})
    for name in settings.keys() & set(_PATH_SETTINGS):
        settings[name] = path.parent / settings[name]
    for name in settings.keys() & set(_PATH_LIST_SETTINGS):
        settings[name] = [path.parent / policy for policy in settings[name]]
    return settings
