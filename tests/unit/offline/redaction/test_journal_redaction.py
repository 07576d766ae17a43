"""A redacted journal has no names, decides the same, and joins under one key."""

from __future__ import annotations

from pathlib import Path

from kpolicy.journal.engine_calls import Effect, call_of
from kpolicy.offline.journal_replay.journal_input import EpochReader, read_journal
from kpolicy.offline.journal_replay.objects_moment import ObjectsMoment, objects_at
from kpolicy.offline.journal_replay.same_decisions import Kept, replayed_epoch
from kpolicy.offline.redaction.journal_redaction import redact_journal
from kpolicy.offline.redaction.redact import fingerprint
from kpolicy.offline.snapshot_file.reader import Redaction
from kpolicy.offline.snapshots.snapshot_problem import OTHER_KEY
from tests.unit.journal.journaled_engine import JournaledEngine, lines, pending

KEY = b"sixteen bytes or more"
NAMES = (b"secret", b"n0", b"n1", b"hunter2")


def recorded(folder: Path) -> None:
    made = JournaledEngine(folder)
    made.begin(nodes=2)
    made.place("secret-web", "secret-db")
    huge = pending("secret-huge")
    huge["spec"]["containers"][0]["resources"] = {"requests": {"cpu": "64"}}
    huge["spec"]["containers"][0]["env"] = [{"name": "PASSWORD", "value": "hunter2"}]
    bookmark = {"kind": "Pod", "metadata": {"resourceVersion": "77"}}
    made.call("watch", "pods", lines(("ADDED", huge), ("BOOKMARK", bookmark)), made.now())
    made.call("schedule", ["secret-huge"], made.now())
    made.close()


def text_of(folder: Path) -> bytes:
    """Everything but policies."""
    (epoch,) = read_journal([folder]).epochs
    found = EpochReader(epoch).records()
    return b"".join(
        each.arguments + each.answer for each in found if each.effect is not Effect.POLICY
    )


def test_no_name_is_left_and_the_decisions_are_the_best_ones(tmp_path: Path) -> None:
    plain, out = tmp_path / "plain", tmp_path / "out"
    recorded(plain)
    assert all(name in text_of(plain) for name in NAMES)
    count, problems = redact_journal(read_journal([plain]), out, KEY)
    assert (count > 5, problems) == (True, [])
    assert [name for name in NAMES if name in text_of(out)] == []
    (epoch,) = read_journal([out]).epochs
    found, engine = replayed_epoch(epoch)
    assert (found.kept, found.decisions, found.different) == (Kept.JUDGEMENT, 3, 0)
    assert engine.holdings().count(b"\n") >= 3
    watched = [call_of(each).arguments for each in EpochReader(epoch).records()]
    assert any(b'"resourceVersion":"77"' in str(each).encode() for each in watched)


def test_one_key_gives_the_same_names_and_another_is_found(tmp_path: Path) -> None:
    recorded(tmp_path / "plain")
    journal = read_journal([tmp_path / "plain"])
    redact_journal(journal, tmp_path / "one", KEY)
    redact_journal(journal, tmp_path / "two", KEY)
    redact_journal(journal, tmp_path / "three", b"another key, as long as that")
    assert text_of(tmp_path / "one") == text_of(tmp_path / "two") != text_of(tmp_path / "three")
    mixed = read_journal([tmp_path / "one", tmp_path / "three"])
    assert [problem.code for problem in mixed.problems] == [OTHER_KEY]


def test_what_was_kept_is_in_the_segments_and_in_a_snapshot_of_a_moment(tmp_path: Path) -> None:
    recorded(tmp_path / "plain")
    journal, out = read_journal([tmp_path / "plain"]), tmp_path / "out"
    redact_journal(journal, out, KEY, keep_labels=("disk",), keep_namespaces=("shop",))
    (epoch,) = read_journal([out]).epochs
    assert (epoch.header.kept_labels, epoch.header.kept_namespaces) == (("disk",), ("shop",))
    moment, before = objects_at(read_journal([out])), objects_at(journal)
    assert isinstance(moment, ObjectsMoment)
    assert moment.redaction == Redaction(("disk",), ("shop",), fingerprint(KEY))
    assert isinstance(before, ObjectsMoment)
    assert before.redaction is None
