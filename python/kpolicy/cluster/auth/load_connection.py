"""Finds the API server and the user: a flag, KUBECONFIG, ~/.kube/config, or the pod we run in.

The first source that exists decides, even if it is wrong. Kubeconfig files are merged, and their
fields take precedence over each other, as in kubectl. `kubernetes.aio.config` merges the files and
looks up names; it is imported when a kubeconfig is read, since it costs 0.3 s and 20 MiB
(docs/dependencies.md). Nothing here sends a request, but a credential plugin may.
"""

from __future__ import annotations

import base64
import binascii
import importlib
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import yaml

from kpolicy.clock import Clock
from kpolicy.cluster.auth.connection import (
    IN_CLUSTER,
    Authorization,
    Connection,
    FixedAuthorization,
    RenewedAuthorization,
    TokenFileAuthorization,
    auth_provider_fetch,
)
from kpolicy.cluster.auth.exec_plugin import exec_command, run_exec
from kpolicy.cluster.auth.tls import TlsMaterial, TlsSource, file_content
from kpolicy.cluster.connection_problem import ConnectionProblem, problem
from kpolicy.cluster.limits import KUBECONFIG_FILES_MAX


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
            "KPC105",
            f"{_names(paths)}: {error}",
            "`kubectl config get-contexts` lists what is defined",
        )
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        # raised by the package where a list is a string, an entry has no name, and the like
        return problem(
            "KPC103",
            f"{_names(paths)}: not a well-formed kubeconfig ({type(error).__name__}: {error})",
            "compare it with `kubectl config view`",
        )


def _check(path: Path) -> ConnectionProblem | None:
    """Find everything about one file for which the package would raise an unclear exception."""
    if os.pathsep in str(path):
        return problem(
            "KPC102",
            f"the path of kubeconfig {path} contains {os.pathsep!r}, which separates paths",
            "rename or link the file",
        )
    content = file_content(path, "kubeconfig", "KPC102")
    if isinstance(content, ConnectionProblem):
        return content
    try:
        document = yaml.safe_load(content)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        return problem("KPC103", f"{path}: not YAML: {error}", "is it a kubeconfig?")
    if not isinstance(document, dict) or not {"clusters", "contexts", "users"} & document.keys():
        return problem(
            "KPC103",
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
            "KPC104",
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
    chosen = (config.get("current-context") for config in merger.config_files.values())
    return next((str(context) for context in chosen if context), None)


def _folder(path: str) -> Path:
    return Path(path).absolute().parent


def _names(paths: Sequence[Path]) -> str:
    return os.pathsep.join(str(path) for path in paths)


SERVICE_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")


async def load_connection(
    environ: Mapping[str, str],
    clock: Clock,
    *,
    kubeconfig: Path | None = None,
    context: str | None = None,
    service_account: Path = SERVICE_ACCOUNT,
) -> Connection | ConnectionProblem:
    """Return the connection that these sources describe."""
    if present := _present(kubeconfig, environ):
        if isinstance(chosen := choose_context(present, context), ConnectionProblem):
            return chosen
        connection = connection_of(chosen, environ, clock)
    elif kubeconfig or environ.get("KUBECONFIG"):
        named = kubeconfig or environ["KUBECONFIG"]
        return problem(
            "KPC101",
            f"there is no kubeconfig at {named}",
            "check --kubeconfig" if kubeconfig else "check the variable KUBECONFIG",
        )
    elif environ.get("KUBERNETES_SERVICE_HOST"):
        connection = _of_service_account(environ, clock, service_account)
    else:
        return problem(
            "KPC113",
            "no kubeconfig and not in a cluster: there is no API server to talk to",
            "give --kubeconfig, set KUBECONFIG, or run in a pod",
        )
    if isinstance(connection, ConnectionProblem):
        return connection
    if isinstance(header := await connection.authorization.header(), ConnectionProblem):
        return header
    pair = connection.authorization.certificate
    return (connection.tls.refresh(pair) if pair and connection.tls else None) or connection


def _present(kubeconfig: Path | None, environ: Mapping[str, str]) -> tuple[Path, ...]:
    paths = (kubeconfig.expanduser(),) if kubeconfig else default_paths(environ)
    return tuple(path for path in paths if path.exists())


def _of_service_account(
    environ: Mapping[str, str], clock: Clock, folder: Path
) -> Connection | ConnectionProblem:
    host, port = environ["KUBERNETES_SERVICE_HOST"], environ.get("KUBERNETES_SERVICE_PORT", "443")
    host = f"[{host}]" if ":" in host else host  # IPv6
    for name in ("token", "ca.crt"):
        if not (folder / name).exists():
            return problem(
                "KPC114",
                f"in a pod, but {folder / name} is missing",
                "set automountServiceAccountToken: true, or give --kubeconfig",
            )
    tls = TlsMaterial.load(TlsSource(authority=folder / "ca.crt"))
    if isinstance(tls, ConnectionProblem):
        return tls
    namespace = folder / "namespace"
    return Connection(
        server=f"https://{host}:{port}",
        authorization=TokenFileAuthorization(folder / "token", clock),
        namespace=namespace.read_text("utf-8").strip() if namespace.exists() else "default",
        user="service account",
        source=IN_CLUSTER,
        tls=tls,
    )


def connection_of(
    chosen: ChosenContext, environ: Mapping[str, str], clock: Clock
) -> Connection | ConnectionProblem:
    if isinstance(server := _server(chosen), ConnectionProblem):
        return server
    tls = _tls(chosen) if server.startswith("https:") else None
    if isinstance(tls, ConnectionProblem):
        return tls
    authorization = _authorization(chosen, environ, clock, tls.authority if tls else None)
    if isinstance(authorization, ConnectionProblem):
        return authorization
    proxy = chosen.cluster.get("proxy-url")
    if proxy and urlsplit(str(proxy)).scheme not in {"http", "https"}:
        return problem(
            "KPC106",
            f"context {chosen.name!r}: proxy-url {proxy!s} is not an http(s) proxy",
            "socks proxies are not supported",
        )
    server_name = chosen.cluster.get("tls-server-name")
    return Connection(
        server=server,
        authorization=authorization,
        namespace=chosen.namespace,
        user=chosen.user_name,
        source=f"context {chosen.name!r} of {', '.join(map(str, chosen.files))}",
        tls=tls,
        server_name=str(server_name) if server_name else None,
        proxy=str(proxy) if proxy else None,
        headers=_impersonation(chosen.user),
    )


def _server(chosen: ChosenContext) -> str | ConnectionProblem:
    server = str(chosen.cluster.get("server") or "").rstrip("/")
    try:
        parts = urlsplit(server)
        valid = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        valid = False
    if not valid:
        return problem(
            "KPC106",
            f"context {chosen.name!r}: its cluster's server {server!r} is not an http(s) URL",
            "for example https://127.0.0.1:6443",
        )
    return server


def _tls(chosen: ChosenContext) -> TlsMaterial | ConnectionProblem:
    sources: dict[str, bytes | Path | None] = {}
    for key, section, folder in (
        ("certificate-authority", chosen.cluster, chosen.cluster_folder),
        ("client-certificate", chosen.user, chosen.user_folder),
        ("client-key", chosen.user, chosen.user_folder),
    ):
        if isinstance(source := _bytes_or_path(section, key, folder), ConnectionProblem):
            return source
        sources[key] = source
    if (sources["client-certificate"] is None) != (sources["client-key"] is None):
        return problem(
            "KPC108",
            f"user {chosen.user_name!r}: a client certificate and its key come together",
            "give both client-certificate and client-key, or neither",
        )
    return TlsMaterial.load(
        TlsSource(
            authority=sources["certificate-authority"],
            certificate=sources["client-certificate"],
            key=sources["client-key"],
            verify=not chosen.cluster.get("insecure-skip-tls-verify"),
        )
    )


def _bytes_or_path(
    section: Mapping[str, object], key: str, folder: Path
) -> bytes | Path | ConnectionProblem | None:
    """Return inline data, or else the path of the file, as kubectl does."""
    if data := section.get(f"{key}-data"):
        try:
            return base64.b64decode("".join(str(data).split()), validate=True)
        except (binascii.Error, ValueError) as error:
            return problem("KPC103", f"{key}-data is not base64: {error}")
    path = section.get(key)
    return folder / str(path) if path else None


def _authorization(
    chosen: ChosenContext, environ: Mapping[str, str], clock: Clock, authority: bytes | None
) -> Authorization | ConnectionProblem:
    user = chosen.user
    if path := user.get("tokenFile"):
        return TokenFileAuthorization(chosen.user_folder / str(path), clock)
    if token := user.get("token"):
        return FixedAuthorization(f"Bearer {str(token).strip()}")
    if "exec" in user:
        command = exec_command(user["exec"], chosen.user_folder, environ, chosen.cluster, authority)
        if isinstance(command, ConnectionProblem):
            return command
        return RenewedAuthorization(lambda: run_exec(command), clock)
    if "auth-provider" in user:
        return RenewedAuthorization(auth_provider_fetch(user, chosen.name, clock), clock)
    if "username" in user:
        pair = f"{user['username']}:{user.get('password', '')}".encode()
        return FixedAuthorization(f"Basic {base64.b64encode(pair).decode()}")
    return FixedAuthorization()


def _impersonation(user: Mapping[str, object]) -> tuple[tuple[str, str], ...]:
    """Return the impersonation headers; without them we would have more rights than was
    intended."""
    single = (("as", "Impersonate-User"), ("as-uid", "Impersonate-Uid"))
    headers = [(header, str(user[key])) for key, header in single if user.get(key)]
    if isinstance(groups := user.get("as-groups"), list):
        headers += [("Impersonate-Group", str(group)) for group in groups]
    return tuple(headers)
