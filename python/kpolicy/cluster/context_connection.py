"""A context of a kubeconfig as a connection.

Owns the meaning of a cluster's and a user's fields, and their precedence as in kubectl. Must not
know where kubeconfigs lie.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import urlsplit

from kpolicy.clock import Clock
from kpolicy.cluster import problem as code
from kpolicy.cluster.connection import Connection
from kpolicy.cluster.credentials import (
    Authorization,
    FixedAuthorization,
    RenewedAuthorization,
    TokenFileAuthorization,
    auth_provider_fetch,
)
from kpolicy.cluster.exec_plugin import exec_command, run_exec
from kpolicy.cluster.kubeconfig import ChosenContext
from kpolicy.cluster.problem import ConnectionProblem, problem
from kpolicy.cluster.tls import TlsMaterial, TlsSource


def connection_of(
    chosen: ChosenContext, environ: Mapping[str, str], clock: Clock
) -> Connection | ConnectionProblem:
    server = _server(chosen)
    if isinstance(server, ConnectionProblem):
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
            code.SERVER_INVALID,
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
            code.SERVER_INVALID,
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
        source = _bytes_or_path(section, key, folder)
        if isinstance(source, ConnectionProblem):
            return source
        sources[key] = source
    if (sources["client-certificate"] is None) != (sources["client-key"] is None):
        return problem(
            code.CERTIFICATE_UNREADABLE,
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
    """Inline data before a file, as in kubectl."""
    if data := section.get(f"{key}-data"):
        try:
            return base64.b64decode("".join(str(data).split()), validate=True)
        except (binascii.Error, ValueError) as error:
            return problem(code.FILE_MALFORMED, f"{key}-data is not base64: {error}")
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
    """Left out, we would act with more rights than the kubeconfig's owner meant."""
    headers = []
    if name := user.get("as"):
        headers.append(("Impersonate-User", str(name)))
    if uid := user.get("as-uid"):
        headers.append(("Impersonate-Uid", str(uid)))
    groups = user.get("as-groups")
    if isinstance(groups, list):
        headers += [("Impersonate-Group", str(group)) for group in groups]
    return tuple(headers)
