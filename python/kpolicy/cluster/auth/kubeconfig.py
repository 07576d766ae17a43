"""Reads kubeconfig files: merges them as kubectl does and finds the context.

Merging and lookup are done by `kubernetes.aio.config`. It is imported when a kubeconfig is read,
since it costs 0.3 s and 20 MiB (docs/dependencies.md).
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from kpolicy.cluster import connection_problem as code
from kpolicy.cluster.connection_problem import ConnectionProblem, problem
from kpolicy.cluster.limits import CREDENTIAL_FILE_BYTES_MAX, KUBECONFIG_FILES_MAX


@dataclass(frozen=True, slots=True)
class ChosenContext:
    """A context with its cluster and user. Paths in `cluster` and `user` are relative to their
    folders."""

    name: str
    cluster: Mapping[str, object]
    cluster_folder: Path
    user: Mapping[str, object]
    user_folder: Path
    user_name: str
    namespace: str
    files: tuple[Path, ...]


def default_paths(environ: Mapping[str, str]) -> tuple[Path, ...]:
    """Return the files listed in KUBECONFIG, or else `~/.kube/config`."""
    listed = [entry for entry in environ.get("KUBECONFIG", "").split(os.pathsep) if entry]
    if listed:
        return tuple(Path(entry).expanduser() for entry in listed[:KUBECONFIG_FILES_MAX])
    home = environ.get("HOME")
    return (Path(home, ".kube", "config"),) if home else ()


def choose_context(
    paths: Sequence[Path], context: str | None = None
) -> ChosenContext | ConnectionProblem:
    """Merge the files, which must exist, and look up the context (or the current one)."""
    for path in paths:
        if (wrong := _check(path)) is not None:
            return wrong
    package = importlib.import_module("kubernetes.aio.config.kube_config")
    try:
        merger = package.KubeConfigMerger(os.pathsep.join(str(path) for path in paths))
        return _choose(merger, context, tuple(paths))
    except package.ConfigException as error:
        return problem(
            code.NAME_UNKNOWN,
            f"{_names(paths)}: {error}",
            "`kubectl config get-contexts` lists what is defined",
        )
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        # raised by the package where a list is a string, an entry has no name, and the like
        return problem(
            code.FILE_MALFORMED,
            f"{_names(paths)}: not a well-formed kubeconfig ({type(error).__name__}: {error})",
            "compare it with `kubectl config view`",
        )


def _check(path: Path) -> ConnectionProblem | None:
    """Find everything about one file for which the package would raise an unclear exception."""
    if os.pathsep in str(path):
        return problem(
            code.FILE_UNREADABLE,
            f"the path of kubeconfig {path} contains {os.pathsep!r}, which separates paths",
            "rename or link the file",
        )
    try:
        with path.open("rb") as file:
            content = file.read(CREDENTIAL_FILE_BYTES_MAX + 1)
    except FileNotFoundError:
        return problem(code.FILE_MISSING, f"there is no kubeconfig at {path}", "check the path")
    except OSError as error:
        return problem(code.FILE_UNREADABLE, f"cannot read kubeconfig {path}: {error.strerror}")
    if len(content) > CREDENTIAL_FILE_BYTES_MAX:
        return problem(
            code.FILE_UNREADABLE,
            f"kubeconfig {path} is larger than {CREDENTIAL_FILE_BYTES_MAX} bytes",
        )
    try:
        document = yaml.safe_load(content)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        return problem(code.FILE_MALFORMED, f"{path}: not YAML: {error}", "is it a kubeconfig?")
    if not isinstance(document, dict) or not {"clusters", "contexts", "users"} & document.keys():
        return problem(
            code.FILE_MALFORMED,
            f"{path}: not a kubeconfig: no clusters, contexts or users in it",
            "`kubectl config view` prints what one looks like",
        )
    return None


def _choose(
    merger: Any, context: str | None, files: tuple[Path, ...]
) -> ChosenContext | ConnectionProblem:
    name = context or _current_context(merger)
    if not name:
        return problem(
            code.NO_CURRENT_CONTEXT,
            f"{_names(files)}: no current-context is set",
            "name one with --context, or `kubectl config use-context NAME`",
        )
    node = merger.config["contexts"].get_with_name(name)["context"]
    cluster = merger.config["clusters"].get_with_name(node["cluster"])
    user_name = node.safe_get("user") or ""
    user = merger.config["users"].get_with_name(user_name) if user_name else None
    return ChosenContext(
        name=name,
        cluster=dict(cluster.safe_get("cluster") or {}),
        cluster_folder=_folder(cluster.path),
        user=dict(user.safe_get("user") or {}) if user is not None else {},
        user_folder=_folder(user.path if user is not None else cluster.path),
        user_name=str(user_name),
        namespace=str(node.safe_get("namespace") or "default"),
        files=files,
    )


def _current_context(merger: Any) -> str | None:
    """Return the current context: the first file that sets it wins, as in kubectl."""
    for config in merger.config_files.values():
        if config.get("current-context"):
            return str(config["current-context"])
    return None


def _folder(path: str) -> Path:
    return Path(path).absolute().parent


def _names(paths: Sequence[Path]) -> str:
    return os.pathsep.join(str(path) for path in paths)
