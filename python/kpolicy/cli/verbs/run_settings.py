"""The settings of `kpolicy run`, with their defaults and the flags that set them.

`run_sources` decides where a value comes from.
"""

from __future__ import annotations

import os
from argparse import ArgumentTypeError, BooleanOptionalAction
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, Final

from kpolicy.cli.verb import Argument, argument
from kpolicy.telemetry.limits import (
    KEPT_TRACES_PER_SECOND,
    TRACES_PER_SECOND,
    TRACES_PER_SECOND_MAX,
)


def _whole(text: str) -> int:
    try:
        return int(text)
    except ValueError as error:
        raise ArgumentTypeError(f"`{text}` is not a whole number") from error


def _rate(text: str) -> int:
    rate = _whole(text)
    if not 0 <= rate <= TRACES_PER_SECOND_MAX:
        raise ArgumentTypeError(f"`{text}` is not between 0 and {TRACES_PER_SECOND_MAX}")
    return rate


def _yes_or_no(text: str) -> bool:
    words = {"1": True, "true": True, "yes": True, "on": True}
    words |= {"0": False, "false": False, "no": False, "off": False}
    if text.lower() not in words:
        raise ArgumentTypeError(f"`{text}` is neither true nor false")
    return words[text.lower()]


def _paths(text: str) -> tuple[Path, ...]:
    return tuple(Path(part) for part in text.split(os.pathsep) if part)


def _flag(read: Callable[[str], Any], text: str = "", **more: Any) -> dict[str, Any]:
    return {"read": read, "help": text, **more}


@dataclass(frozen=True, slots=True)
class RunSettings:
    """In the order in which `--help` shows them."""

    policy: tuple[Path, ...] = field(
        default=(),
        metadata=_flag(
            _paths,
            "a policy, or a folder of them; repeatable (default: kube-scheduler-default)",
            metavar="FILE|DIR",
        ),
    )
    policy_configmap: str = field(
        default="",
        metadata=_flag(
            str,
            "policies from a ConfigMap, watched through the API; NAME alone is in our own"
            " namespace, #KEY names one of its keys",
            metavar="NS/NAME",
        ),
    )
    policy_status: str = field(
        default="",
        metadata=_flag(
            str,
            "a ConfigMap of ours for the policy's conditions and the last good policy, or `none`"
            " (default: NAME-status beside the policy's ConfigMap)",
            metavar="NS/NAME",
        ),
    )
    policy_cache: Path | None = field(
        default=None,
        metadata=_flag(Path, "a folder in which the last good policy is kept too", metavar="DIR"),
    )
    shadow_policy: tuple[Path, ...] = field(
        default=(),
        metadata=_flag(
            _paths,
            "policies to compare with those in force, without acting on them; repeatable",
            metavar="FILE|DIR",
        ),
    )
    shadow_policy_configmap: str = field(
        default="",
        metadata=_flag(
            str, "the same from a ConfigMap, watched through the API", metavar="NS/NAME"
        ),
    )
    kubeconfig: Path | None = field(
        default=None, metadata=_flag(Path, "how to reach the cluster", metavar="FILE")
    )
    context: str | None = field(
        default=None, metadata=_flag(str, "which of its contexts", metavar="NAME")
    )
    seed: int | None = field(
        default=None, metadata=_flag(_whole, "make ties fall the same way each time")
    )
    once: bool = field(
        default=False, metadata=_flag(_yes_or_no, "place what can be placed now, then stop")
    )
    bind_address: str = field(
        default="127.0.0.1",
        metadata=_flag(str, "where /metrics and /healthz are served", metavar="ADDRESS"),
    )
    port: int = field(default=10259, metadata=_flag(_whole, "its port; 0 for none"))
    tls_cert_file: Path | None = field(
        default=None,
        metadata=_flag(Path, "its certificate, PEM; read again when it changes", metavar="FILE"),
    )
    tls_private_key_file: Path | None = field(
        default=None, metadata=_flag(Path, "and the key of it", metavar="FILE")
    )
    auth: str = field(
        default="none",
        metadata=_flag(
            str,
            "who may read all but health: none (all of this machine, nobody else), token (of"
            " --auth-token-file), delegated (tokens of the cluster, by its RBAC)",
            choices=("none", "token", "delegated"),
        ),
    )
    auth_token_file: Path | None = field(
        default=None,
        metadata=_flag(Path, "the token to ask for; read again each time", metavar="FILE"),
    )
    leader_elect: bool = field(
        default=True,
        metadata=_flag(_yes_or_no, "act only while holding a Lease, so that replicas take turns"),
    )
    lease_namespace: str = field(
        default="",
        metadata=_flag(
            str,
            "where the Lease is (default: the pod's own namespace, else kube-system)",
            metavar="NAMESPACE",
        ),
    )
    lease_name: str = field(default="kpolicy", metadata=_flag(str, "its name", metavar="NAME"))
    log_format: str = field(
        default="auto",
        metadata=_flag(
            str,
            "auto: text on a terminal, else a JSON object a line",
            choices=("auto", "json", "text"),
        ),
    )
    log_level: str = field(
        default="info", metadata=_flag(str, "", choices=("debug", "info", "warning", "error"))
    )
    traces_per_second: int = field(
        default=TRACES_PER_SECOND,
        metadata=_flag(
            _rate, "of the traces that OTEL_TRACES_SAMPLER takes, at most so many", metavar="N"
        ),
    )
    kept_traces_per_second: int = field(
        default=KEPT_TRACES_PER_SECOND,
        metadata=_flag(
            _rate,
            "traces kept beside them, of attempts that found no node, failed or were slow, at most",
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
        if read is _yes_or_no:
            help_ = f"{help_} (default: {'yes' if default else 'no'})"
            options["action"] = BooleanOptionalAction
        elif read is _paths:
            options |= {"action": "append", "type": Path}
        else:
            options["type"] = read
            if default not in ("", None):
                help_ = f"{help_} (default: {default})".strip()
        flag = f"--{setting.name.replace('_', '-')}"
        yield argument(flag, default=None, help=help_, **options)


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return [str(part) for part in value]
    return str(value) if isinstance(value, Path) else value


ARGUMENTS: Final = tuple(_arguments())
