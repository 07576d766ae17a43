"""`kpolicy snapshot`: what is in a snapshot.

Owns the verb's flags and its exit code. The counting is that of `kpolicy.offline.survey`.
"""

from __future__ import annotations

import argparse
import json
import sys
from typing import Any, Final

from kpolicy.cli.failure import CannotWorkError
from kpolicy.cli.snapshot_inputs import SNAPSHOT_HELP, add_output_flag, load_snapshot

_EPILOG: Final = "exit: 0 shown, 2 could not work"


def add_parser(subparsers: Any) -> None:  # argparse has no public name for this type
    parser: argparse.ArgumentParser = subparsers.add_parser(
        "snapshot",
        help="show snapshots",
        description="Show what is in a snapshot.",
        allow_abbrev=False,
    )
    verbs = parser.add_subparsers(dest="snapshot_verb", required=True, metavar="VERB")
    info = verbs.add_parser(
        "info",
        help="count what is in a snapshot",
        description="Count kinds, nodes, pods and resources, and name what cannot be read.",
        epilog=_EPILOG,
        allow_abbrev=False,
    )
    info.add_argument("snapshot", nargs="+", metavar="FILE|DIR|-", help=SNAPSHOT_HELP)
    add_output_flag(info)


def main(args: argparse.Namespace) -> int:
    from kpolicy.offline.report.survey import survey_json, survey_text
    from kpolicy.offline.survey import survey

    snapshot = load_snapshot(args.snapshot)
    found = survey(snapshot)
    if not found.kinds and not found.left_out:
        raise CannotWorkError(f"there is no object in {', '.join(args.snapshot)}")
    if args.output == "json":
        shown = survey_json(found, snapshot.size_bytes)
        print(json.dumps(shown, ensure_ascii=False, indent=2))
        return 0
    for line in survey_text(found, snapshot.size_bytes):
        print(line)
    sys.stdout.flush()
    for problem in found.problems:
        print(f"warning: {problem}", file=sys.stderr)
    return 0
