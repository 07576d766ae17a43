"""`kpolicy snapshot`: records a cluster, redacts a snapshot, says what is in one."""

from __future__ import annotations

import argparse
import json
import sys
from typing import Final

from kpolicy.cli.flags import OUTPUT, SNAPSHOT_FILES
from kpolicy.cli.inputs import load_snapshot
from kpolicy.cli.verb import CannotWorkError, Verb
from kpolicy.cli.verbs import snapshot_record, snapshot_redact


def _info(args: argparse.Namespace) -> int:
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
    lines = [*recordings_text(snapshot.recordings), *survey_text(found, snapshot.size_bytes)]
    print("\n".join(lines), flush=True)
    for problem in found.problems:
        print(f"warning: {problem}", file=sys.stderr)
    return 0


VERB: Final = Verb(
    "snapshot",
    "Record a cluster, take the names out of a snapshot, show what is in one.",
    verbs=(
        snapshot_record.VERB,
        snapshot_redact.VERB,
        Verb(
            "info",
            "Count kinds, nodes, pods and resources, name what cannot be read, and say when and of "
            "what a recorded snapshot was made.",
            _info,
            (SNAPSHOT_FILES, OUTPUT),
            "exit: 0 shown, 2 could not work",
            "count what is in a snapshot",
        ),
    ),
)
