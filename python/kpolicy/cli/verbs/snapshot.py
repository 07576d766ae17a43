"""`kpolicy snapshot`: records a cluster, redacts a snapshot, says what is in one."""

from __future__ import annotations

import argparse
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from kpolicy.cli.input_output import (
    is_journal,
    load_snapshot,
    progress_bar,
    refuse_terminal,
    write_document,
    write_errors,
    write_lines,
    written,
)
from kpolicy.cli.interrupts import run_async
from kpolicy.cli.live_cluster import connect, print_left_out
from kpolicy.cli.verb import (
    CLUSTER,
    OUTPUT,
    SNAPSHOT_FILES,
    CannotWorkError,
    Verb,
    argument,
    destination,
    moment,
    repeatable,
    whole_number,
)
from kpolicy.cli.verbs.followed_cluster import follow_cluster
from kpolicy.cli.verbs.journal_snapshot import snapshot_of_journal
from kpolicy.cli.verbs.redacted_names import KEEP_NAMESPACE, NAMES, redaction_key
from kpolicy.cli.verbs.setting_values import size

if TYPE_CHECKING:
    from kpolicy.cluster.connection_problem import ConnectionProblem
    from kpolicy.cluster.watch.resource import Resource
    from kpolicy.offline.snapshot_file.reader import Origin
    from kpolicy.offline.snapshot_file.writer import Writer
    from kpolicy.offline.snapshots.cluster_snapshot import Snapshot
    from kpolicy.recorder.record import Progress, Recording

_RECORD_EPILOG: Final = """\
Lists only the kinds of objects that `kpolicy run` and policies read: never Secrets or ConfigMaps.
Managed fields are not recorded, nor the environment, arguments, commands and probes of containers.
Names are recorded; `kpolicy snapshot redact` replaces them. The rights that this needs are in
deploy/rbac/snapshot-recorder.yaml.

exit: 0 recorded, 2 could not work
"""


def _record_cluster(args: argparse.Namespace) -> int:
    from kpolicy.api_times import api_time
    from kpolicy.clock import SystemClock

    if args.follow is not None:
        return follow_cluster(args, _wanted(args.kinds))
    if args.seconds is not None:
        raise CannotWorkError("--for says how long to --follow; without it, one moment is recorded")
    now = api_time(SystemClock().now_ns())
    file = args.output or f"kpolicy-{now.replace('-', '').replace(':', '')}.kpsnap"
    refuse_terminal(file)
    record_cluster(args, file, _wanted(args.kinds), skip_forbidden=args.skip_forbidden)
    return 0


def record_cluster(
    args: argparse.Namespace, file: str, wanted: list[Resource], *, skip_forbidden: bool
) -> None:
    """`args` has the flags of CLUSTER."""
    from kpolicy.api_times import api_time
    from kpolicy.clock import SystemClock
    from kpolicy.cluster.connection_problem import ConnectionProblem
    from kpolicy.offline.snapshot_file.reader import Origin
    from kpolicy.offline.snapshot_file.writer import Writer

    recorded = api_time(SystemClock().now_ns())
    with written(file) as (stream, folder), Writer(folder) as writer:
        with progress_bar("recording the cluster") as progress:
            work = _record_live(args, writer, wanted, progress, skip_forbidden=skip_forbidden)
            made = run_async(work)
        if isinstance(made, ConnectionProblem):
            raise CannotWorkError(str(made))
        origin = Origin(recorded, made.cluster_version, made.resource_versions, made.left_out)
        header = writer.write(stream, origin)
    _print_notes(made)
    objects = sum(header.content.counts.values())
    print(f"recorded {objects:,} objects in {file}", file=sys.stderr)


async def _record_live(
    args: argparse.Namespace,
    writer: Writer,
    wanted: list[Resource],
    progress: Progress | None,
    *,
    skip_forbidden: bool,
) -> Recording | ConnectionProblem:
    from kpolicy.clock import SystemClock
    from kpolicy.cluster.api import ApiClient
    from kpolicy.recorder.record import record

    clock = SystemClock()
    connection = await connect(args)
    async with ApiClient(connection, clock) as client:
        return await record(
            client,
            writer,
            clock,
            wanted=wanted,
            skip_forbidden=skip_forbidden,
            progress=progress,
        )


def _wanted(written_kinds: str | None) -> list[Resource]:
    from kpolicy.diagnostics import did_you_mean
    from kpolicy.recorder.record import RECORDED

    known = {resource.name: resource for resource in RECORDED}
    names = [name.strip() for name in (written_kinds or "").split(",") if name.strip()]
    if written_kinds is not None and not names:
        raise CannotWorkError(
            "--kinds has no name of a kind; without this flag, all kinds are recorded"
        )
    for name in names:
        if name not in known:
            hint = did_you_mean(name, known) or f"kinds are {', '.join(known)}"
            raise CannotWorkError(f"--kinds: `{name}` is not a kind that is recorded; {hint}")
    return [resource for name, resource in known.items() if not names or name in names]


def _print_notes(made: Recording) -> None:
    for problem in made.problems:
        print(f"warning: {problem}", file=sys.stderr)
    print_left_out(made)
    if not made.is_of_one_moment:
        print(
            "note: kinds were listed at different times; `kpolicy snapshot info` shows when",
            file=sys.stderr,
        )


_RECORD: Final = Verb(
    "record",
    "Record the objects of a cluster in a file that all offline verbs read.",
    _record_cluster,
    (
        *CLUSTER,
        argument(
            "--kinds",
            metavar="KIND,…",
            help="record only these kinds, by the plural names that kubectl uses (default: all)",
        ),
        argument(
            "--follow",
            type=Path,
            metavar="DIR",
            help="go on: record changes too, in a journal in this folder, until ctrl-C; `kpolicy "
            "replay` compares what was bound with what a policy would have decided",
        ),
        argument(
            "--for",
            dest="seconds",
            type=whole_number(1),
            metavar="SECONDS",
            help="with --follow: stop after so long",
        ),
        argument(
            "--journal-size",
            type=size,
            default="1Gi",
            metavar="SIZE",
            help="with --follow: how large the journal may become; what is oldest is deleted "
            "(default: %(default)s)",
        ),
        argument(
            "--skip-forbidden",
            action="store_true",
            help="leave out kinds that you have no right to list; the file names them",
        ),
        destination("default: kpolicy-TIME.kpsnap"),
    ),
    _RECORD_EPILOG,
    "record a live cluster",
)


_REDACT_EPILOG: Final = """\
Replaced: names, namespaces, uids, images and values of labels; a name is replaced by the same word
everywhere. Kept: keys of labels and taints, names of resources, drivers and schedulers, numbers,
times, and values of well-known labels (zones, regions, architectures, instance types). Left out:
everything that no rule reads, and annotations. The same key gives the same names, so that snapshots
can be compared; `kpolicy snapshot names` says which. Keep the key secret: with it, original names
can be found by trying.

exit: 0 written, 2 could not work
"""


def _redact(args: argparse.Namespace) -> int:
    from kpolicy.offline.limits import PROBLEMS_SHOWN_MAX
    from kpolicy.offline.redaction.redact import redacted_origin, redactor
    from kpolicy.offline.snapshot_file.writer import Writer

    key = redaction_key(args.key)
    if is_journal(args.snapshot):
        return _redact_journal(args, key)
    refuse_terminal(args.output)
    snapshot = load_snapshot(args.snapshot)
    for problem in snapshot.problems[:PROBLEMS_SHOWN_MAX]:
        print(f"warning: {problem}", file=sys.stderr)
    kept = {"keep_labels": args.keep_label, "keep_namespaces": args.keep_namespace}
    with written(args.output) as (stream, folder), Writer(folder) as writer:
        with progress_bar("redacting") as progress:
            known = sum(
                sum(recorded.header.content.counts.values()) for recorded in snapshot.recordings
            )
            for done, item in enumerate(redactor(snapshot, key, **kept).redacted(), start=1):
                writer.add(item)
                if progress is not None and known:
                    progress(done, max(done, known))
        header = writer.write(stream, redacted_origin(snapshot, key, **kept))
    objects = sum(header.content.counts.values())
    if not objects:
        print("warning: the snapshot has no object that a rule reads", file=sys.stderr)
    print(f"redacted {objects:,} objects into {args.output}", file=sys.stderr)
    return 0


def _redact_journal(args: argparse.Namespace, key: bytes) -> int:
    from kpolicy.journal.engine_calls import BrokenRecordError
    from kpolicy.offline.journal_replay.journal_input import read_journal
    from kpolicy.offline.redaction.journal_redaction import redact_journal

    folder = Path(args.output)
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise CannotWorkError(f"{folder} is there already; a journal needs a new folder")
    journal = read_journal(args.snapshot)
    kept = {"keep_labels": args.keep_label, "keep_namespaces": args.keep_namespace}
    with write_errors(folder), progress_bar("redacting"):
        try:
            count, problems = redact_journal(journal, folder, key, **kept)
        except (BrokenRecordError, OSError) as error:
            shutil.rmtree(folder, ignore_errors=True)  # it was new
            if isinstance(error, OSError):
                raise
            raise CannotWorkError(f"Damaged: {args.snapshot[0]}: {error}") from error
    for problem in problems:
        print(f"warning: {problem.code}: {problem}", file=sys.stderr)
    print(f"redacted {count:,} records into {folder}", file=sys.stderr)
    return 0


_REDACT: Final = Verb(
    "redact",
    "Replace the names in a snapshot. The same policy makes the same decisions on the result.",
    _redact,
    (
        SNAPSHOT_FILES,
        argument(
            "--key",
            required=True,
            metavar="FILE|random",
            help="a secret of at least 16 bytes; `random` makes a new one, which is not kept",
        ),
        repeatable(
            "--keep-label",
            metavar="KEY",
            help="keep the values of this label, because a policy names them; repeatable",
        ),
        KEEP_NAMESPACE,
        destination("required", required=True),
    ),
    _REDACT_EPILOG,
    "replace the names in a snapshot",
)


_MERGE_EPILOG: Final = """\
Of an object that is in more than one snapshot, the newest recording has the last word. Redacted
snapshots must be redacted with one key.

exit: 0 written, 2 could not work
"""
_FROM_EPILOG: Final = """\
Reads what `kubectl get … -o json` or `-o yaml` prints, and exports of kube-scheduler-simulator. The
scheduler configuration of an export is left out; `kpolicy convert` reads it. So are the fields that
`kpolicy snapshot record` leaves out.

Of a journal, writes the cluster as the API server had shown it at a moment: at --at, or at its end.

exit: 0 written, 2 could not work
"""


def _merge(args: argparse.Namespace) -> int:
    from kpolicy.offline.snapshot_file.merging import merged_origin
    from kpolicy.offline.snapshots.snapshot_problem import Problem

    refuse_terminal(args.output)
    snapshots = [load_snapshot([argument]) for argument in args.snapshot]
    origin = merged_origin(snapshots)
    if isinstance(origin, Problem):
        raise CannotWorkError(f"{origin.code}: {origin}")
    _write_together(args.output, snapshots, origin, "merged")
    return 0


def _from(args: argparse.Namespace) -> int:
    from kpolicy.api_times import api_time
    from kpolicy.offline.snapshot_file.reader import Origin

    refuse_terminal(args.output)
    if is_journal(args.snapshot):
        return snapshot_of_journal(args)
    if args.at is not None:
        raise CannotWorkError("--at needs a journal: other files are of one moment")
    snapshots = [load_snapshot([argument]) for argument in args.snapshot]
    if any(snapshot.recordings for snapshot in snapshots):
        raise CannotWorkError(
            "a recorded snapshot is among the files; `kpolicy snapshot merge` puts these together"
        )
    recorded = "" if args.recorded is None else api_time(args.recorded)
    _write_together(args.output, snapshots, Origin(recorded), "wrote")
    return 0


def _write_together(file: str, snapshots: Sequence[Snapshot], origin: Origin, done: str) -> None:
    from kpolicy.offline.limits import PROBLEMS_SHOWN_MAX
    from kpolicy.offline.snapshot_file.merging import objects_of
    from kpolicy.offline.snapshot_file.writer import Writer

    problems = [problem for snapshot in snapshots for problem in snapshot.problems]
    with written(file) as (stream, folder), Writer(folder) as writer:
        # What no rule reads is among the problems of the snapshots already.
        for item in objects_of(snapshots):
            writer.add(item)
        header = writer.write(stream, origin)
        objects = sum(header.content.counts.values())
        if not objects:
            raise CannotWorkError("there is no object that a rule reads in these files")
    for problem in problems[:PROBLEMS_SHOWN_MAX]:
        print(f"warning: {problem}", file=sys.stderr)
    print(f"{done} {objects:,} objects into {file}", file=sys.stderr)


_WRITTEN: Final = destination("required", required=True)
_MERGE: Final = Verb(
    "merge",
    "Put several snapshots together to one.",
    _merge,
    (SNAPSHOT_FILES, _WRITTEN),
    _MERGE_EPILOG,
    "put several snapshots together",
)
_FROM: Final = Verb(
    "from",
    "Write a snapshot from the output of kubectl, from an export of kube-scheduler-simulator, or "
    "from a moment of a journal.",
    _from,
    (
        SNAPSHOT_FILES,
        argument(
            "--recorded",
            type=moment,
            metavar="TIME",
            help="when these files were written: the time that rules read as `now`",
        ),
        argument(
            "--at",
            type=moment,
            metavar="TIME",
            help="of a journal: the cluster as it was then (default: at its end)",
        ),
        _WRITTEN,
    ),
    _FROM_EPILOG,
    "write a snapshot from other files",
)


def _info(args: argparse.Namespace) -> int:
    from kpolicy.offline.reports.answer_text import (
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
    if args.output != "table":
        shown = survey_json(found, snapshot.size_bytes) | recordings_json(snapshot.recordings)
        if args.output == "json":
            write_document("snapshot", shown)
        else:
            write_lines([shown])
        return 0
    lines = [*recordings_text(snapshot.recordings), *survey_text(found, snapshot.size_bytes)]
    print("\n".join(lines), flush=True)
    for problem in found.problems:
        print(f"warning: {problem}", file=sys.stderr)
    return 0


SNAPSHOT: Final = Verb(
    "snapshot",
    "Record a cluster, replace the names in snapshots, put snapshots together, or show what is in "
    "one.",
    verbs=(
        _RECORD,
        _REDACT,
        NAMES,
        _MERGE,
        _FROM,
        Verb(
            "info",
            "Count kinds, nodes, pods and resources, list objects that cannot be read, and say "
            "when and from which cluster a snapshot was recorded.",
            _info,
            (SNAPSHOT_FILES, OUTPUT),
            "exit: 0 shown, 2 could not work",
            "count what is in a snapshot",
        ),
    ),
)
