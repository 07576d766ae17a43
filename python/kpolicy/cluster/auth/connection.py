"""The address of an API server, and the credentials for it.

`Authorization` gives the header of each request: fixed, from a token file that is read again, or
from a credential that is fetched again before it expires (exec plugin, auth-provider).
"""

from __future__ import annotations

import asyncio
import importlib
import logging
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from ssl import SSLContext
from typing import Any, Final

from kpolicy.api_times import NANOSECONDS
from kpolicy.clock import Clock, background_group
from kpolicy.cluster.auth.exec_plugin import Credential
from kpolicy.cluster.auth.tls import CertificatePair, TlsMaterial
from kpolicy.cluster.connection_problem import ConnectionProblem, problem
from kpolicy.cluster.limits import (
    CREDENTIAL_FILE_BYTES_MAX,
    CREDENTIAL_RETRY_S,
    EXEC_REFRESH_AHEAD_S,
    TOKEN_FILE_REREAD_S,
)
from kpolicy.regular_files import off_loop, read_file

# the `source` of a connection made from a pod's service account
IN_CLUSTER: Final = "in-cluster"


@dataclass(frozen=True, slots=True)
class Connection:
    """Everything that is needed before the first request."""

    server: str  # scheme, host, port and path prefix, without a slash at the end
    authorization: Authorization
    namespace: str
    user: str
    source: str  # for the log
    tls: TlsMaterial | None = None  # None: plain HTTP
    server_name: str | None = (
        None  # expected in the server's certificate, if not the host of the address
    )
    proxy: str | None = None
    headers: tuple[tuple[str, str], ...] = ()  # impersonation

    @property
    def ssl_context(self) -> SSLContext | None:
        return self.tls.context if self.tls else None

    @property
    def is_in_cluster(self) -> bool:
        return self.source == IN_CLUSTER


_log = logging.getLogger(__name__)


class Authorization(ABC):
    @abstractmethod
    async def header(self) -> str | ConnectionProblem:
        """Return the header's value; empty for none."""

    @property
    def certificate(self) -> CertificatePair | None:
        """The client certificate that came with the credential."""
        return None

    def refused(self) -> None:  # noqa: B027  most have nothing to forget
        """Call after a 401: the cached credential is no longer valid."""

    def renewing(self) -> AbstractAsyncContextManager[None]:
        """While this is entered, the next credential may be fetched beside the requests."""
        return nullcontext()


class FixedAuthorization(Authorization):
    """No credential, or the token or password in the kubeconfig itself."""

    def __init__(self, header: str = "") -> None:
        self._header = header

    async def header(self) -> str | ConnectionProblem:
        return self._header


class TokenFileAuthorization(Authorization):
    """A token file that changes, as projected service account tokens do."""

    def __init__(self, path: Path, clock: Clock) -> None:
        self._path = path
        self._clock = clock
        self._header = ""
        self._read_again_ns = 0

    async def header(self) -> str | ConnectionProblem:
        if self._clock.monotonic_ns() < self._read_again_ns and self._header:
            return self._header
        try:
            token = await off_loop(read_token, self._path)
        except TimeoutError as error:
            token = problem("KPC109", f"the token {self._path} was {error.strerror}")
        if isinstance(token, ConnectionProblem):
            if not self._header:
                return token
            _log.warning("%s; the token read before stays in use", token)
        else:
            self._header = f"Bearer {token}"
        self._read_again_ns = self._clock.monotonic_ns() + round(TOKEN_FILE_REREAD_S * NANOSECONDS)
        return self._header

    def refused(self) -> None:
        self._read_again_ns = 0


def read_token(path: Path) -> str | ConnectionProblem:
    """Read a token. Anything besides one line of text would break the header and is a problem."""
    try:
        content = read_file(path, CREDENTIAL_FILE_BYTES_MAX)
        token = content.decode("ascii").strip()
    except OSError as error:
        return problem("KPC109", f"cannot read the token {path}: {error.strerror}")
    except UnicodeDecodeError:
        return problem("KPC109", f"{path} holds no token: it is not ASCII text")
    if not token or not token.isprintable() or len(content) > CREDENTIAL_FILE_BYTES_MAX:
        return problem("KPC109", f"{path} holds no token: expected one line of text")
    return token


class RenewedAuthorization(Authorization):
    """A credential that is fetched by a call (exec plugin, auth-provider) and expires.

    Inside `renewing`, at most one fetch runs at a time, which no request that gives up ends. While
    the credential is valid, requests go on with it and the next one is fetched beside them; without
    a valid one they wait. Outside, who needs a credential fetches it.
    """

    def __init__(
        self, fetch: Callable[[], Awaitable[Credential | ConnectionProblem]], clock: Clock
    ) -> None:
        self._fetch = fetch
        self._clock = clock
        self._credential: Credential | None = None
        self._problem: ConnectionProblem | None = None
        self._not_before_ns = 0
        self._group: asyncio.TaskGroup | None = None
        self._renewal: asyncio.Task[None] | None = None

    @asynccontextmanager
    async def renewing(self) -> AsyncIterator[None]:
        try:
            async with background_group() as self._group:
                yield
        finally:
            self._group = self._renewal = None

    async def header(self) -> str | ConnectionProblem:
        if not self._good_for(0):
            if self._group is None:
                await self._renew()
            else:
                await asyncio.shield(self._start(self._group))
            if not self._good_for(0):
                return self._problem or problem(
                    "KPC111", "the credential fetched has ended already", "check the clock"
                )
        elif self._group is not None and not self._good_for(EXEC_REFRESH_AHEAD_S):
            self._start(self._group)
        credential = self._credential
        return f"Bearer {credential.token}" if credential and credential.token else ""

    @property
    def certificate(self) -> CertificatePair | None:
        return self._credential.certificate if self._credential else None

    def refused(self) -> None:
        # A credential that was fetched a moment ago and is refused would not be better if fetched
        # again.
        if self._clock.monotonic_ns() >= self._not_before_ns:
            self._credential = None

    def _good_for(self, seconds: float) -> bool:
        if self._credential is None:
            return False
        ends_ns = self._credential.ends_ns
        return ends_ns is None or self._clock.now_ns() + seconds * NANOSECONDS < ends_ns

    def _start(self, group: asyncio.TaskGroup) -> asyncio.Task[None]:
        if self._renewal is None or self._renewal.done():
            self._renewal = group.create_task(self._renew(), name="credential")
        return self._renewal

    async def _renew(self) -> None:
        if self._clock.monotonic_ns() < self._not_before_ns:
            return
        answer = await self._fetch()
        self._not_before_ns = self._clock.monotonic_ns() + round(CREDENTIAL_RETRY_S * NANOSECONDS)
        if isinstance(answer, ConnectionProblem):
            self._problem = answer
            _log.warning("credentials were not renewed: %s", answer)
        else:
            self._credential, self._problem = answer, None


def auth_provider_fetch(
    user: Mapping[str, object], context: str, clock: Clock
) -> Callable[[], Awaitable[Credential | ConnectionProblem]]:
    """Make a fetch through `kubernetes.aio.config`, which knows OIDC and GCP.

    The package checks the expiry itself: it is called each minute, and keeps refreshed tokens in
    `user`.
    """
    # Only the user is used; without a server in the cluster, the package leaves TLS alone.
    document = {
        "current-context": context,
        "contexts": [{"name": context, "context": {"cluster": context, "user": context}}],
        "clusters": [{"name": context, "cluster": {}}],
        "users": [{"name": context, "user": user}],
    }

    async def fetch() -> Credential | ConnectionProblem:
        package: Any = importlib.import_module("kubernetes.aio.config")
        configuration: Any = importlib.import_module("kubernetes.aio.client").Configuration()
        try:
            await package.load_kube_config_from_dict(document, client_configuration=configuration)
        except Exception as error:
            return problem(
                "KPC112",
                f"the auth-provider of context {context!r} failed: {type(error).__name__}: {error}",
                "log in again, or use an exec plugin: auth-providers have left kubectl",
            )
        value = str(configuration.api_key.get("BearerToken") or "")
        if not value.startswith("Bearer "):
            return problem("KPC112", f"the auth-provider of context {context!r} gave no token")
        ends_ns = clock.now_ns() + round((EXEC_REFRESH_AHEAD_S + TOKEN_FILE_REREAD_S) * NANOSECONDS)
        return Credential(value.removeprefix("Bearer "), None, ends_ns)

    return fetch
