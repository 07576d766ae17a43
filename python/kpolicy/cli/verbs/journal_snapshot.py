"""`kpolicy snapshot from JOURNAL`: the cluster at a moment of a journal, as a snapshot."""

from __future__ import annotations

import argparse
import sys

from kpolicy.cli.input_output import progress_bar, written
from kpolicy.cli.verb import FINE, CannotWorkError


def snapshot_of_journal(args: argparse.Namespace) -> int:
    """`args` has the flags of `snapshot from`."""
    from kpolicy.api_times import api_time
    from kpolicy.offline.journal_replay.journal_input import read_journal
    from kpolicy.offline.journal_replay.objects_moment import objects_at
    from kpolicy.offline.snapshot_file.reader import Origin
    from kpolicy.offline.snapshot_file.writer import Writer
    from kpolicy.offline.snapshots.snapshot_problem import Problem

    if args.recorded is not None:
        raise CannotWorkError("--recorded does not go with a journal, which has times; use --at")
    journal = read_journal(args.snapshot)
    if not journal.epochs:
        raise CannotWorkError("\n".join(f"{each.code}: {each}" for each in journal.problems))
    with progress_bar("reading the journal"):
        found = objects_at(journal, args.at)
    if isinstance(found, Problem):
        raise CannotWorkError(f"{found.code}: {found}")
    for problem in (*journal.problems, *found.problems):
        print(f"warning: {problem.code}: {problem}", file=sys.stderr)
    origin = Origin(api_time(found.at_ns), found.cluster_version, redaction=found.redaction)
    with written(args.output) as (stream, folder), Writer(folder) as writer:
        for item in found.objects:
            writer.add(item)
        header = writer.write(stream, origin)
    objects = sum(header.content.counts.values())
    print(f"wrote {objects:,} objects of {origin.recorded} into {args.output}", file=sys.stderr)
    return FINE
