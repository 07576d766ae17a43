"""`kpolicy snapshot`: record one, take the names out of it, say what is in it.

Owns which verbs there are below this one. Each is a module of its own, which loads what it needs
when it runs.
"""

from __future__ import annotations

import argparse
from typing import Any, Final

from kpolicy.cli.verbs import snapshot_info, snapshot_record, snapshot_redact

_VERBS: Final = {
    "record": snapshot_record,
    "redact": snapshot_redact,
    "info": snapshot_info,
}


def add_parser(subparsers: Any) -> None:  # argparse has no public name for this type
    parser: argparse.ArgumentParser = subparsers.add_parser(
        "snapshot",
        help="record, redact and show snapshots",
        description="Record a cluster, take the names out of a snapshot, show what is in one.",
        allow_abbrev=False,
    )
    verbs = parser.add_subparsers(dest="snapshot_verb", required=True, metavar="VERB")
    for module in _VERBS.values():
        module.add_parser(verbs)


def main(args: argparse.Namespace) -> int:
    verb: Any = _VERBS[args.snapshot_verb]
    return int(verb.main(args))
