"""Who may read what the health server serves, and the certificate with which it is served.

The rules are `none`, `token` and `delegated`. What cannot be decided is refused. Health is open, so
that the kubelet can probe it. A certificate that cannot be used is logged once, and the pair before
stays in use; others (kubelet, cert-manager) write the PEM files.
"""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
import logging
import ssl
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol

from kpolicy.clock import NO_PULSE, Clock, Pulse
from kpolicy.regular_files import off_loop, read_file
from kpolicy.telemetry import limits

NONE: Final = "none"
TOKEN: Final = "token"  # noqa: S105 - the name of a rule, not a token
DELEGATED: Final = "delegated"
KINDS: Final = (NONE, TOKEN, DELEGATED)

_NOT_CONFIGURED: Final = """\
Only health is served here without authentication, as this is no loopback address.
Give --auth=token with --auth-token-file=FILE, or --auth=delegated for tokens of the cluster, and
--tls-cert-file=FILE with --tls-private-key-file=FILE; or --bind-address=127.0.0.1.
"""
_NO_TOKEN: Final = "a bearer token is needed: Authorization: Bearer …\n"  # noqa: S105


@dataclass(frozen=True, slots=True)
class Refusal:
    status: int
    text: str


class Guard(Protocol):
    async def refuse(self, authorization: str, verb: str, path: str) -> Refusal | None:
        """Return why the request is refused; None if it is allowed. `authorization` may be
        empty."""


class Open:
    """Everyone who can reach the address may read: it is a loopback address."""

    async def refuse(self, authorization: str, verb: str, path: str) -> Refusal | None:
        return None


class NotConfigured:
    """No reader is allowed: others can reach the address, and no rule was configured."""

    async def refuse(self, authorization: str, verb: str, path: str) -> Refusal | None:
        return Refusal(403, _NOT_CONFIGURED)


class TokenFile:
    """One token for everyone. The file is read again for each request, as it may change."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def problem(self) -> str:
        """Return why the token file cannot be used; empty if it can."""
        token = self._token()
        return token if isinstance(token, str) else ""

    async def refuse(self, authorization: str, verb: str, path: str) -> Refusal | None:
        if not (presented := bearer_token(authorization)):
            return Refusal(401, _NO_TOKEN)
        try:
            token = await off_loop(self._token)
        except TimeoutError as error:
            token = f"{self._path} was {error.strerror}"
        if isinstance(token, str):
            return Refusal(403, f"nobody can be let in: {token}\n")
        if hmac.compare_digest(presented.encode("utf-8", "surrogateescape"), token):
            return None
        return Refusal(401, "the token is not the one of --auth-token-file\n")

    def _token(self) -> bytes | str:
        if isinstance(content := _content(self._path, limits.TOKEN_BYTES_MAX), str):
            return content
        token = content.strip()
        if len(token) < limits.TOKEN_BYTES_MIN:
            return f"{self._path} holds less than {limits.TOKEN_BYTES_MIN} bytes"
        return token


def _content(path: Path, bytes_max: int) -> bytes | str:
    """Return what a file contains, or why it cannot be used."""
    try:
        content = read_file(path, bytes_max)
    except OSError as error:
        return f"cannot read {path}: {error.strerror}"
    return content if len(content) <= bytes_max else f"{path} is larger than {bytes_max} bytes"


def bearer_token(authorization: str) -> str:
    """Return the token in the header, or an empty string."""
    scheme, _, token = authorization.partition(" ")
    return token.strip() if scheme.lower() == "bearer" else ""


def is_loopback(address: str) -> bool:
    """Whether only this machine can reach the address. Names other than localhost may be any
    address."""
    try:
        return ipaddress.ip_address(address).is_loopback
    except ValueError:
        return address == "localhost"


_log = logging.getLogger(__name__)


class ServedCertificate:
    """Call `load` first. Connections opened before a renewal keep their certificate."""

    def __init__(self, certificate: Path, key: Path) -> None:
        self._paths = (certificate, key)
        self._digest = b""
        self._current: ssl.SSLContext | None = None
        self._complaint = ""
        self.context = _context()
        self.context.sni_callback = self._choose
        self.renewals = 0

    def load(self) -> str:
        """Read the files; return why they cannot be used, or an empty string."""
        if isinstance(read := self._read(), str):
            return read
        if read == self._digest:
            return ""
        fresh = _context()
        try:
            # with a password, an encrypted key is an error; without one OpenSSL would prompt for it
            fresh.load_cert_chain(*self._paths, password="")
            if self._current is None:
                self.context.load_cert_chain(*self._paths, password="")
        except (ssl.SSLError, OSError, ValueError) as error:
            reason = error.reason if isinstance(error, ssl.SSLError) else str(error)
            certificate, key = self._paths
            return f"{certificate} and {key} cannot be used together: {reason or error}"
        self.renewals += self._current is not None
        self._current, self._digest = fresh, read
        return ""

    async def follow(self, clock: Clock, pulse: Pulse = NO_PULSE) -> None:
        """Read the files again periodically, until cancelled."""
        while True:
            pulse.beat()
            await clock.sleep(limits.CERTIFICATE_PERIOD_S)
            renewals = self.renewals
            try:
                why = await off_loop(self.load)
            except TimeoutError as error:
                why = f"{self._paths[0]} and {self._paths[1]} were {error.strerror}"
            if why and why != self._complaint:
                _log.warning("the certificate in force stays: %s", why)
            elif self.renewals != renewals:
                _log.info("a renewed certificate is served from now on")
            self._complaint = why

    def _choose(self, connection: ssl.SSLObject, name: str | None, base: ssl.SSLContext) -> None:
        if self._current is not None:
            connection.context = self._current

    def _read(self) -> bytes | str:
        digest = hashlib.sha256()
        for path in self._paths:
            if isinstance(content := _content(path, limits.CERTIFICATE_BYTES_MAX), str):
                return content
            digest.update(hashlib.sha256(content).digest())
        return digest.digest()


def _context() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    return context
