"""`kpolicy snapshot info`: what is in a snapshot.

Owns the verb's flags and its exit code. The counting is that of `kpolicy.offline.snapshots.survey`.
"""

from __future__ import annotations

import argparse
import json
import sys
from typing import Any, Final

from kpolicy.cli.inputs import SNAPSHOT_HELP, add_output_flag, load_snapshot
from kpolicy.cli.verb import CannotWorkError

_EPILOG: Final = "exit: 0 shown, 2 could not work"


def add_parser(verbs: Any) -> None:  # argparse has no public name for this type
    info = verbs.add_parser(
        "info",
        help="count what is in a snapshot",
        description="Count kinds, nodes, pods and resources, name what cannot be read, and say "
        "when and of what a recorded snapshot was made.",
        epilog=_EPILOG,
        allow_abbrev=False,
    )
    info.add_argument("snapshot", nargs="+", metavar="FILE|DIR|-", help=SNAPSHOT_HELP)
    add_output_flag(info)


def main(args: argparse.Namespace) -> int:
    from kpolicy.offline.reports.survey_text import (
        recordings_json,
        recordings_text,
        survey_json,
        survey_text,
    )
    from kpolicy.offline.snapshots.survey import survey

    snapshot = load_snapshot(args.snapshot)
    found = survey(snapshot)
    if not found.kinds and not found.left_out and not snapshot.recordings:
        raise CannotWorkError(f"there is no object in {', '.join(args.snapshot)}")
    if args.output == "json":
        shown = survey_json(found, snapshot.size_bytes) | recordings_json(snapshot.recordings)
        print(json.dumps(shown, ensure_ascii=False, indent=2))
        return 0
    lines = recordings_text(snapshot.recordings)
    for line in [*lines, *survey_text(found, snapshot.size_bytes)]:
        print(line)
    sys.stdout.flush()
    for problem in found.problems:
        print(f"warning: {problem}", file=sys.stderr)
    return 0
