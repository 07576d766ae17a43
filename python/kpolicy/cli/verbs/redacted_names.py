"""The key by which `kpolicy snapshot redact` replaces names, and `kpolicy snapshot names`: by which
words.
"""

from __future__ import annotations

import argparse
import secrets
from pathlib import Path
from typing import Final

from kpolicy.cli.findings_text import printable
from kpolicy.cli.verb import FINE, CannotWorkError, Verb, argument, repeatable

RANDOM: Final = "random"
_RANDOM_BYTES: Final = 32
_KEY_BYTES_MAX: Final = 1 << 16
KEEP_NAMESPACE: Final = repeatable(
    "--keep-namespace",
    metavar="NS",
    help="keep the name of this namespace; repeatable",
)


def redaction_key(written_key: str) -> bytes:
    from kpolicy.offline.redaction.redact import KEY_BYTES_MIN

    if written_key == RANDOM:
        return secrets.token_bytes(_RANDOM_BYTES)
    try:
        with Path(written_key).open("rb") as file:
            key = file.read(_KEY_BYTES_MAX).rstrip(b"\r\n")
    except OSError as error:
        raise CannotWorkError(
            f"the key {written_key} cannot be read: {error.strerror or error}; "
            f"`--key {RANDOM}` makes one"
        ) from error
    if len(key) < KEY_BYTES_MIN:
        raise CannotWorkError(
            f"the key in {written_key} has {len(key)} bytes; at least {KEY_BYTES_MIN} are needed, "
            "for example from `head -c 32 /dev/urandom`"
        )
    return key


def _names(args: argparse.Namespace) -> int:
    from kpolicy.offline.redaction.field_rules import Words
    from kpolicy.offline.reports.columns import columns

    if args.key == RANDOM:
        raise CannotWorkError("a new key has replaced no names; give the file of the key")
    words = Words(redaction_key(args.key), keep_namespaces=args.keep_namespace)
    rows = [[name, "/".join(map(words.name, name.split("/")))] for name in args.names]
    print("\n".join(map(printable, columns(rows, indent=""))))
    return FINE


NAMES: Final = Verb(
    "names",
    "Say by which words a key replaces names, so that you find your objects in what was redacted.",
    _names,
    (
        argument(
            "names",
            nargs="+",
            metavar="NAME",
            help="of a pod, a node or another object, or NAMESPACE/NAME",
        ),
        argument("--key", required=True, metavar="FILE", help="the key of the redaction"),
        KEEP_NAMESPACE,
    ),
    "exit: 0 shown, 2 could not work",
    "say by which words names were replaced",
)
