"""A running kpolicy for verbs that ask one: where it is, and who asks."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from kpolicy.cli.verb import CannotWorkError, argument

if TYPE_CHECKING:
    from kpolicy.cluster.api import ApiClient
    from kpolicy.cluster.request_failure import Failure
    from kpolicy.offline.answers.advice import Scope

VARIABLE: Final = "KPOLICY_SCHEDULER"
SCHEDULER: Final = (
    argument(
        "--scheduler",
        metavar="URL",
        default="",
        help="a running kpolicy, such as http://127.0.0.1:10259 (default: the variable "
        f"{VARIABLE})",
    ),
    argument(
        "--scheduler-ca",
        type=Path,
        metavar="FILE",
        help="the authority of its certificate (default: those of the system)",
    ),
    argument(
        "--scheduler-token-file",
        type=Path,
        metavar="FILE",
        help="a token that it lets in: of --auth-token-file, or of the cluster",
    ),
)


def scheduler_url(args: argparse.Namespace) -> str:
    """Empty if none is named."""
    return str(args.scheduler or os.environ.get(VARIABLE, "")).rstrip("/")


def scheduler_client(args: argparse.Namespace, url: str) -> ApiClient:
    from kpolicy.clock import SystemClock
    from kpolicy.cluster.api import ApiClient
    from kpolicy.cluster.auth.connection import (
        Connection,
        FixedAuthorization,
        TokenFileAuthorization,
    )
    from kpolicy.cluster.auth.tls import TlsMaterial, TlsSource
    from kpolicy.cluster.connection_problem import ConnectionProblem

    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise CannotWorkError(f"--scheduler: `{url}` is no http(s) URL")
    token, clock = args.scheduler_token_file, SystemClock()
    tls = TlsMaterial.load(TlsSource(authority=args.scheduler_ca)) if url[:6] == "https:" else None
    if isinstance(tls, ConnectionProblem):
        raise CannotWorkError(str(tls))
    connection = Connection(
        server=url,
        authorization=TokenFileAuthorization(token, clock) if token else FixedAuthorization(),
        namespace="",
        user="",
        source="--scheduler",
        tls=tls,
    )
    return ApiClient(connection, clock)


async def explained(
    args: argparse.Namespace, url: str, pod: str, *, is_advised: bool = False
) -> bytes | None:
    """The line of `kpolicy explain --output json` of a running kpolicy, with its queue; None, after
    a note, if it gives none. `is_advised`: with what would place the pod."""
    query = {"pod": pod, "output": "json", **({"advice": "1"} if is_advised else {})}
    return await _page_of(args, url, query)


async def summed_up(args: argparse.Namespace, url: str, scope: Scope) -> bytes | None:
    """What a running kpolicy says of the pods of a namespace or a group; None as above."""
    group = {"group": scope.group} if scope.group else {}
    return await _page_of(args, url, {"namespace": scope.namespace, **group, "output": "json"})


async def _page_of(args: argparse.Namespace, url: str, query: dict[str, str]) -> bytes | None:
    from kpolicy.clock import SystemClock
    from kpolicy.cluster.api import Response
    from kpolicy.top.frames import page

    async with scheduler_client(args, url) as client:
        answer = await page(client, SystemClock(), "/debug/explain", query)
    if isinstance(answer, Response):
        return answer.body
    print(f"note: {refused(url, answer)}; the cluster is listed instead", file=sys.stderr)
    return None


def refused(url: str, failure: Failure) -> str:
    """Why a running kpolicy did not answer, in a line."""
    from kpolicy.cluster.request_failure import Status

    if isinstance(failure, Status):
        first = failure.message.split(". ")[0]
        return f"{url} answers {failure.code}: {first}"
    return f"{url} does not answer: {failure}"
