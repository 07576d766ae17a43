"""The certificate of the health server, renewed when its files change.

A pair that cannot be used is logged once, and the pair before stays in use. Others (kubelet,
cert-manager) write the PEM files.
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
