"""TLS towards the API server: reads certificates, and reads them again when they may have changed.

Certificates and keys are PEM. Whoever holds connections compares `generation`.
"""

from __future__ import annotations

import os
import ssl
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from kpolicy.cluster.connection_problem import ConnectionProblem, problem
from kpolicy.cluster.limits import CREDENTIAL_FILE_BYTES_MAX
from kpolicy.regular_files import off_loop, read_file


@dataclass(frozen=True, slots=True)
class CertificatePair:
    """A client certificate chain and its key, PEM."""

    certificate: bytes
    key: bytes


@dataclass(frozen=True, slots=True)
class TlsSource:
    """The source of certificates: bytes (inline in a kubeconfig), or a file that may change."""

    authority: bytes | Path | None = None  # None: the system's authorities
    certificate: bytes | Path | None = None
    key: bytes | Path | None = None
    verify: bool = True


class TlsMaterial:
    """The TLS context in use; `refresh` replaces it when a source has changed.

    `generation` grows when the context is replaced; connections opened before that use the old one.
    """

    def __init__(self, source: TlsSource) -> None:
        self._source = source
        self._read: _Read | None = None
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        self.generation = -1

    @classmethod
    def load(
        cls, source: TlsSource, certificate: CertificatePair | None = None
    ) -> TlsMaterial | ConnectionProblem:
        material = cls(source)
        return material.refresh(certificate) or material

    @property
    def authority(self) -> bytes | None:
        return self._read.authority if self._read else None

    async def refresh_off_loop(
        self, certificate: CertificatePair | None = None
    ) -> ConnectionProblem | None:
        """As `refresh`, in another thread and for a limited time."""
        try:
            return await off_loop(self.refresh, certificate)
        except TimeoutError as error:
            return problem("KPC107", f"the certificates were {error.strerror}")

    def refresh(self, certificate: CertificatePair | None = None) -> ConnectionProblem | None:
        """Read the sources again. If there is a problem, the context in use stays in use."""
        if isinstance(read := _read_all(self._source, certificate), ConnectionProblem):
            return read
        if read == self._read:
            return None
        if isinstance(context := _context(read, verify=self._source.verify), ConnectionProblem):
            return context
        self.context, self._read = context, read
        self.generation += 1
        return None


@dataclass(frozen=True, slots=True)
class _Read:
    authority: bytes | None
    pair: CertificatePair | None


def _read_all(source: TlsSource, pair: CertificatePair | None) -> _Read | ConnectionProblem:
    authority = _bytes_of(source.authority, "certificate authority", "KPC107")
    if isinstance(authority, ConnectionProblem):
        return authority
    if pair is None and source.certificate is not None and source.key is not None:
        certificate = _bytes_of(source.certificate, "client certificate", "KPC108")
        if isinstance(certificate, ConnectionProblem):
            return certificate
        key = _bytes_of(source.key, "client key", "KPC108")
        if isinstance(key, ConnectionProblem):
            return key
        pair = CertificatePair(certificate or b"", key or b"")
    return _Read(authority, pair)


def _bytes_of(
    source: bytes | Path | None, what: str, problem_code: str
) -> bytes | ConnectionProblem | None:
    hint = "check the path in the kubeconfig and the file's permissions"
    if isinstance(source, Path):
        return file_content(source, f"the {what}", problem_code, hint)
    return source


def file_content(
    path: Path, what: str, problem_code: str, hint: str = ""
) -> bytes | ConnectionProblem:
    """Read a file of credentials, which has a limit."""
    try:
        content = read_file(path, CREDENTIAL_FILE_BYTES_MAX)
    except OSError as error:
        return problem(problem_code, f"cannot read {what} {path}: {error.strerror}", hint)
    if len(content) > CREDENTIAL_FILE_BYTES_MAX:
        return problem(
            problem_code, f"{what} {path} is larger than {CREDENTIAL_FILE_BYTES_MAX} bytes"
        )
    return content


def _context(read: _Read, *, verify: bool) -> ssl.SSLContext | ConnectionProblem:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    # Many clusters' certificate authorities lack the key usage extensions that newer Pythons demand
    # by default. Go does not demand them, and all other clients are written in Go.
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    if not verify:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    elif read.authority is None:
        context.load_default_certs(ssl.Purpose.SERVER_AUTH)
    else:
        try:
            context.load_verify_locations(cadata=read.authority.decode("ascii", "replace"))
        except (ssl.SSLError, ValueError) as error:
            return problem(
                "KPC107",
                f"the certificate authority is not a PEM certificate: {_reason(error)}",
                "it should begin with -----BEGIN CERTIFICATE-----",
            )
    if read.pair is not None:
        try:
            _load_pair(context, read.pair)
        except (ssl.SSLError, OSError, ValueError) as error:
            return problem(
                "KPC108",
                f"the client certificate and key cannot be used: {_reason(error)}",
                "both must be PEM, unencrypted, and belong together",
            )
    return context


def _reason(error: Exception) -> str:
    return (error.reason if isinstance(error, ssl.SSLError) else None) or str(error)


def _load_pair(context: ssl.SSLContext, pair: CertificatePair) -> None:
    # With a `password`, an encrypted key is an error; without one OpenSSL would prompt for it.
    with _as_path(pair.certificate) as certificate, _as_path(pair.key) as key:
        context.load_cert_chain(certificate, key, password="")


@contextmanager
def _as_path(content: bytes) -> Iterator[str]:
    """Give OpenSSL a path, as it reads chains from files only.

    The file is in memory if the system can do that: keys do not reach a disk, and a read-only
    container works.
    """
    if hasattr(os, "memfd_create"):
        descriptor, path = os.memfd_create("kpolicy-tls"), None
    else:
        descriptor, path = tempfile.mkstemp()
    try:
        with os.fdopen(descriptor, "wb", closefd=False) as file:
            file.write(content)
        yield path or f"/proc/self/fd/{descriptor}"
    finally:
        os.close(descriptor)
        if path is not None:
            Path(path).unlink(missing_ok=True)
