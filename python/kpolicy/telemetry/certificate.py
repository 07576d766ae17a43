"""The certificate that is served, and its renewal on disk.

Owns the TLS context of the server. A pair that cannot be used leaves the one before in force, and
is said once. Assumes PEM files that somebody else (kubelet, cert-manager) replaces. Must not know
what is served.
"""

from __future__ import annotations

import hashlib
import logging
import ssl
from pathlib import Path

from kpolicy.clock import Clock
from kpolicy.heartbeat import NO_PULSE, Pulse
from kpolicy.telemetry import limits

_log = logging.getLogger(__name__)


class ServedCertificate:
    """`load` it first. Connections of before a renewal keep the certificate they began with."""

    def __init__(self, certificate: Path, key: Path) -> None:
        self._paths = (certificate, key)
        self._digest = b""
        self._current: ssl.SSLContext | None = None
        self._complaint = ""
        self.context = _context()
        self.context.sni_callback = self._choose
        self.renewals = 0

    def load(self) -> str:
        """Why the pair cannot be served; empty when it can."""
        read = self._read()
        if isinstance(read, str):
            return read
        if read == self._digest:
            return ""
        fresh = _context()
        try:
            # A password is given so that an encrypted key is an error: OpenSSL would ask for one.
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
        """Read the files again and again. Ends only when cancelled."""
        while True:
            pulse.beat()
            await clock.sleep(limits.CERTIFICATE_PERIOD_S)
            renewals = self.renewals
            why = self.load()
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
            try:
                with path.open("rb") as file:
                    content = file.read(limits.CERTIFICATE_BYTES_MAX + 1)
            except OSError as error:
                return f"cannot read {path}: {error.strerror}"
            if len(content) > limits.CERTIFICATE_BYTES_MAX:
                return f"{path} is larger than {limits.CERTIFICATE_BYTES_MAX} bytes"
            digest.update(hashlib.sha256(content).digest())
        return digest.digest()


def _context() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    return context
