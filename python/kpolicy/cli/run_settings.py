"""What `kpolicy run` is told: by flags, `KPOLICY_*` variables, a file, or not at all.

Owns the settings, how each is written, and which source comes first. Assumes an argument parser
that left out what was not given. Must not start anything.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, Final

from kpolicy.cli.failure import CannotWorkError
from kpolicy.cli.param_flag import params_of

PREFIX: Final = "KPOLICY_"
# Of ours, and no settings.
_OTHER_VARIABLES: Final = frozenset({"CONFIG", "DEBUG", "PARAM"})
# A Service called `kpolicy` makes kubelet set these for every pod of its namespace.
_OF_SERVICES: Final = ("tcp://", "udp://", "sctp://")


def _whole(text: str) -> int:
    try:
        return int(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"`{text}` is not a whole number") from error


def _yes_or_no(text: str) -> bool:
    words = {"1": True, "true": True, "yes": True, "on": True}
    words |= {"0": False, "false": False, "no": False, "off": False}
    if text.lower() not in words:
        raise argparse.ArgumentTypeError(f"`{text}` is neither true nor false")
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
    params: Mapping[str, Any] = field(default_factory=dict)

    def shown(self, origins: Mapping[str, str]) -> dict[str, Any]:
        """For /configz: each value, and where it came from."""
        return {
            name: {"value": _plain(value), "from": origins.get(name, "default")}
            for name, value in asdict(self).items()
        }


def add_flags(parser: argparse.ArgumentParser) -> None:
    """A flag for each; what is not given is None."""
    for one in fields(RunSettings):
        if not one.metadata:
            continue
        flag, read = f"--{one.name.replace('_', '-')}", one.metadata["read"]
        text = one.metadata["help"]
        default = one.default
        if read is _yes_or_no:
            shown = f"{text} (default: {'yes' if default else 'no'})"
            action = argparse.BooleanOptionalAction
            parser.add_argument(flag, action=action, default=None, help=shown)
            continue
        if read is _paths:
            parser.add_argument(
                flag, action="append", type=Path, metavar=one.metadata["metavar"], help=text
            )
            continue
        if default not in ("", None, ()):
            text = f"{text} (default: {default})".strip()
        keys = ("metavar", "choices")
        more = {key: one.metadata[key] for key in keys if key in one.metadata}
        parser.add_argument(flag, type=read, default=None, help=text, **more)


def settled(
    flags: Mapping[str, Any], environ: Mapping[str, str], file: Mapping[str, Any]
) -> tuple[RunSettings, dict[str, str]]:
    """Flags before variables before the file before defaults; and where each came from."""
    values: dict[str, Any] = {}
    origins: dict[str, str] = {}
    for origin, given in (("file", file), ("variable", _variables(environ)), ("flag", flags)):
        for one in fields(RunSettings):
            value = given.get(one.name)
            if value is None or value in ([], {}):
                continue
            values[one.name] = tuple(value) if isinstance(value, list) else value
            origins[one.name] = origin
    _only_one(values, origins)
    return RunSettings(**values), origins


def unknown_variables(environ: Mapping[str, str]) -> list[str]:
    """What is probably a slip, in words; others may have variables of this prefix too."""
    from kpolicy.policy.nearest import is_slip, nearest

    known = {one.name.upper() for one in fields(RunSettings)} | _OTHER_VARIABLES
    said = []
    for name in sorted(environ):
        written = name.removeprefix(PREFIX)
        if written == name or written in known:
            continue
        near = nearest(written, known)
        if near and is_slip(written, near):
            said.append(f"{name} is no variable of ours; did you mean `{PREFIX}{near}`?")
    return said


def _variables(environ: Mapping[str, str]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for one in fields(RunSettings):
        name = PREFIX + one.name.upper()
        text = environ.get(name, "")
        if not text or not one.metadata or text.startswith(_OF_SERVICES):
            continue
        try:
            found[one.name] = one.metadata["read"](text)
        except argparse.ArgumentTypeError as error:
            raise CannotWorkError(f"{name}: {error}") from error
        choices = one.metadata.get("choices")
        if choices and text not in choices:
            raise CannotWorkError(f"{name}: `{text}` is none of {', '.join(choices)}")
    found["params"] = params_of(environ.get(f"{PREFIX}PARAM", ""))
    return found


def _only_one(values: dict[str, Any], origins: dict[str, str]) -> None:
    """Of two that exclude each other, the one that comes first; from one place it is a slip."""
    order = ("file", "variable", "flag")
    for one, other in (
        ("policy", "policy_configmap"),
        ("shadow_policy", "shadow_policy_configmap"),
    ):
        if one not in values or other not in values:
            continue
        ranks = order.index(origins[one]), order.index(origins[other])
        if ranks[0] == ranks[1]:
            flags = " and ".join(f"--{name.replace('_', '-')}" for name in (one, other))
            raise CannotWorkError(f"{flags} are both given: policies come from one of them")
        weaker = other if ranks[0] > ranks[1] else one
        del values[weaker], origins[weaker]


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return [str(part) for part in value]
    return str(value) if isinstance(value, Path) else value
