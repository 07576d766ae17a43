"""`kpolicy snapshot redact`: writes a snapshot without names, which can be handed on."""

from __future__ import annotations

import argparse
import secrets
import sys
from pathlib import Path
from typing import Final

from kpolicy.cli.flags import SNAPSHOT_FILES, destination
from kpolicy.cli.inputs import load_snapshot
from kpolicy.cli.outputs import progress_bar, refuse_terminal, written
from kpolicy.cli.verb import CannotWorkError, Verb, argument, repeatable

RANDOM: Final = "random"
_RANDOM_BYTES: Final = 32
_KEY_BYTES_MAX: Final = 1 << 16
_EPILOG: Final = """\
Replaced, each by the same word wherever it stands: names, namespaces, uids, images, label values.
Kept: label and taint keys, resource names, driver and scheduler names, numbers, times, and values
of well-known labels (zones, regions, architectures, instance types). Dropped: all that no rule
reads, and annotations. With the same key, the same names: snapshots can be compared. Whoever has
the key can find out names by trying; without it nobody can.

exit: 0 written, 2 could not work
"""


def _main(args: argparse.Namespace) -> int:
    from kpolicy.offline.limits import PROBLEMS_SHOWN_MAX
    from kpolicy.offline.redaction.redact import redacted_origin, redactor
    from kpolicy.offline.snapshot_file.writer import Writer

    refuse_terminal(args.output)
    key = _key(args.key)
    snapshot = load_snapshot(args.snapshot)
    for problem in snapshot.problems[:PROBLEMS_SHOWN_MAX]:
        print(f"warning: {problem}", file=sys.stderr)
    kept = {"keep_labels": args.keep_label, "keep_namespaces": args.keep_namespace}
    with written(args.output) as (stream, folder), Writer(folder) as writer:
        with progress_bar("redacting") as progress:
            known = sum(sum(one.header.content.counts.values()) for one in snapshot.recordings)
            for done, item in enumerate(redactor(snapshot, key, **kept).redacted(), start=1):
                writer.add(item)
                if progress is not None and known:
                    progress(done, max(done, known))
        header = writer.write(stream, redacted_origin(snapshot, **kept))
    objects = sum(header.content.counts.values())
    if not objects:
        print("warning: there was nothing that a rule reads", file=sys.stderr)
    print(f"redacted {objects:,} objects into {args.output}", file=sys.stderr)
    return 0


def _key(written_key: str) -> bytes:
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


VERB: Final = Verb(
    "redact",
    "Write a snapshot that decides as the given one does, under other names.",
    _main,
    (
        SNAPSHOT_FILES,
        argument(
            "--key",
            required=True,
            metavar="FILE|random",
            help="at least 16 bytes that nobody else has; `random`: made now and forgotten",
        ),
        repeatable(
            "--keep-label",
            metavar="KEY",
            help="values of this label stay, for a policy that names them; repeatable",
        ),
        repeatable(
            "--keep-namespace",
            metavar="NS",
            help="this namespace's name stays, wherever it stands; repeatable",
        ),
        destination("must be given", required=True),
    ),
    _EPILOG,
    "replace the names in a snapshot",
)
