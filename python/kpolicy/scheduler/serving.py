"""What is served about the scheduler, to whom, and over what.

Owns the choice of guard and certificate by the options, and the refusal of what would be unsafe:
tokens that cross a network in the clear. Assumes options that were checked. Must not know what the
pages say.
"""

from __future__ import annotations

import ssl
from dataclasses import dataclass
from pathlib import Path

from kpolicy.clock import Clock
from kpolicy.cluster.api import ApiClient
from kpolicy.cluster.reviews import Reviews
from kpolicy.scheduler.delegated_access import DelegatedAccess
from kpolicy.scheduler.options import Options
from kpolicy.scheduler.problem import CERTIFICATE_UNUSABLE, TOKEN_FILE_UNUSABLE, Problem
from kpolicy.telemetry.access import (
    DELEGATED,
    TOKEN,
    Guard,
    NotConfigured,
    Open,
    TokenFile,
    is_loopback,
)
from kpolicy.telemetry.certificate import ServedCertificate


@dataclass(frozen=True, slots=True)
class Serving:
    guard: Guard
    certificate: ServedCertificate | None

    @property
    def tls(self) -> ssl.SSLContext | None:
        return self.certificate.context if self.certificate is not None else None


def serving_of(options: Options, client: ApiClient, clock: Clock) -> Serving | Problem:
    certificate = None
    if options.tls_cert_file:
        certificate = ServedCertificate(
            Path(options.tls_cert_file), Path(options.tls_private_key_file)
        )
        why = certificate.load()
        if why:
            hint = "both are PEM, the key is not encrypted, and they belong together"
            return Problem(CERTIFICATE_UNUSABLE, why, hint)
    if options.auth == TOKEN:
        file = TokenFile(Path(options.auth_token_file))
        why = file.problem()
        if why:
            hint = "write a token of some length into it, for scrapers to send"
            return Problem(TOKEN_FILE_UNUSABLE, why, hint)
        return Serving(file, certificate)
    if options.auth == DELEGATED:
        return Serving(DelegatedAccess(Reviews(client), clock), certificate)
    guard = Open() if is_loopback(options.bind_address) else NotConfigured()
    return Serving(guard, certificate)
