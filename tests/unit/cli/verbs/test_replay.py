"""`kpolicy replay`, and the verbs of `kpolicy snapshot` that read journals and other files."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kpolicy import Snapshot
from kpolicy.cli import main
from kpolicy.testing import node, pod
from tests.unit.journal.journaled_engine import JournaledEngine, lines, pending
from tests.unit.offline.journal_replay.test_other_policy import FENCED

Capture = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    made = JournaledEngine(tmp_path / "journal")
    made.begin(nodes=2)
    made.place("web-0", "web-1", "web-2")
    made.clock.stand_still(60)
    huge = pending("huge")
    huge["spec"]["containers"][0]["resources"] = {"requests": {"cpu": "64"}}
    made.call("watch", "pods", lines(("ADDED", huge)), made.now())
    made.call("schedule", ["huge"], made.now())
    made.close()
    (tmp_path / "fenced.yaml").write_text(FENCED)
    return tmp_path


def printed(capsys: Capture, *arguments: str, code: int = 0) -> str:
    assert main(list(arguments)) == code, capsys.readouterr()
    return capsys.readouterr().out


def refused(capsys: Capture, *arguments: str) -> str:
    assert main(list(arguments)) == 2
    return capsys.readouterr().err


def test_the_same_decisions_in_words_and_for_programs(capsys: Capture) -> None:
    text = printed(capsys, "replay", "journal")
    assert text.startswith("4 decisions, all the same\n")
    document = json.loads(printed(capsys, "replay", "journal", "-o", "json"))
    assert document["summary"] == {"decisions": 4, "different": 0}
    (epoch,) = document["epochs"]
    assert (epoch["compared"], epoch["decisions"], epoch["problems"]) == ("everything", 4, [])
    *differences, rest = printed(capsys, "replay", "journal", "-o", "jsonl").splitlines()
    assert differences == document["differences"] == []
    assert json.loads(rest)["summary"] == document["summary"]


def test_another_policy_in_words_and_for_programs(capsys: Capture) -> None:
    arguments = ("replay", "journal", "--policy", "fenced.yaml", "--every-pod")
    text = printed(capsys, *arguments, code=1)
    assert "of 4 decisions would have been another one" in text
    assert "default/web-" in text
    document = json.loads(printed(capsys, *arguments, "-o", "json", code=1))
    assert document["summary"]["results"]["would_reject"] == len(document["differences"]) > 0


@pytest.mark.parametrize(
    "option", ["--release=1.34", "--feature-gates=A=true", "--param=a=1", "--every-pod"]
)
def test_what_says_how_a_policy_decides_needs_one(capsys: Capture, option: str) -> None:
    name = "--" + option.removeprefix("--").partition("=")[0]
    assert f"{name} needs --policy" in refused(capsys, "replay", "journal", option)


def test_up_to_a_time_and_a_pod_as_it_was_then(capsys: Capture) -> None:
    early = ("--at", "2026-01-01T00:00:30Z")
    assert printed(capsys, "replay", "journal", *early).startswith("3 decisions, all the same\n")
    text = printed(capsys, "replay", "journal", "--pod", "huge")
    assert "Insufficient cpu" in text
    assert "there was no such pod" in refused(capsys, "replay", "journal", *early, "--pod", "huge")
    assert "after this time" in refused(capsys, "replay", "journal", "--at", "2025-01-01T00:00:00Z")


@pytest.mark.parametrize(
    ("make", "code"),
    [
        (lambda path: path.write_bytes(b"apiVersion: v1\n" * 20), "NotAJournal"),
        (lambda path: path.write_bytes(_changed(path, 9, 9)), "NewerFormat"),
        (lambda path: path.write_bytes(path.read_bytes()[:20]), "CutOff"),
        (lambda path: path.unlink(), "NoFiles"),
    ],
)
def test_input_that_is_no_journal_has_a_code(
    make: Callable[[Path], Any], code: str, folder: Path, capsys: Capture
) -> None:
    make(next((folder / "journal").glob("*.kpsnap")))
    assert f"{code}: " in refused(capsys, "replay", "journal")


def _changed(path: Path, at: int, value: int) -> bytes:
    text = bytearray(path.read_bytes())
    text[at] = value
    return bytes(text)


def test_a_journal_that_is_cut_off_is_replayed_up_to_there(folder: Path, capsys: Capture) -> None:
    path = next((folder / "journal").glob("*.kpsnap"))
    path.write_bytes(path.read_bytes()[:-10])
    assert "CutOff: " in printed(capsys, "replay", "journal", code=1)


def test_a_redacted_journal_is_judged(capsys: Capture) -> None:
    Path("key").write_bytes(bytes(range(100, 132)))
    printed(capsys, "snapshot", "redact", "journal", "--key", "key", "-o", "out")
    text = printed(capsys, "replay", "out")
    assert "names are replaced" in text
    assert "already" in refused(
        capsys, "snapshot", "redact", "journal", "--key", "key", "-o", "out"
    )
    printed(capsys, "snapshot", "redact", "journal", "--key", "random", "-o", "other")
    assert "OtherKey: " in refused(capsys, "replay", "out", "other")
    assert "JournalSegment: " in refused(capsys, "snapshot", "info", "journal")


def test_a_moment_of_a_journal_is_a_snapshot(folder: Path, capsys: Capture) -> None:
    printed(capsys, "snapshot", "from", "journal", "-o", "end.kpsnap")
    early = ("--at", "2026-01-01T00:00:30Z")
    printed(capsys, "snapshot", "from", "journal", *early, "-o", "early.kpsnap")
    counts, times = zip(
        *(
            (header.content.counts, header.origin.recorded)
            for name in ("end", "early")
            for header in [Snapshot.load(f"{name}.kpsnap").recordings[0].header]
        ),
        strict=True,
    )
    assert counts == ({"Node": 2, "Pod": 4}, {"Node": 2, "Pod": 3})
    assert times == ("2026-01-01T00:01:00Z", "2026-01-01T00:00:00Z")
    # As the pod was explained in the journal, it is explained in the snapshot.
    in_journal = printed(capsys, "replay", "journal", "--pod", "huge")
    assert printed(capsys, "explain", "--snapshot", "end.kpsnap", "--pod", "huge") == in_journal


def test_a_moment_of_a_redacted_journal_says_so(folder: Path, capsys: Capture) -> None:
    Path("key").write_bytes(bytes(range(100, 132)))
    printed(capsys, "snapshot", "redact", "journal", "--key", "key", "-o", "out")
    printed(capsys, "snapshot", "from", "out", "-o", "moment.kpsnap")
    assert "redacted  names" in printed(capsys, "snapshot", "info", "moment.kpsnap")
    printed(capsys, "snapshot", "from", "journal", "-o", "plain.kpsnap")
    printed(capsys, "snapshot", "redact", "plain.kpsnap", "--key", "key", "-o", "same.kpsnap")
    moment, same = (Snapshot.load(f"{name}.kpsnap") for name in ("moment", "same"))
    assert [item["metadata"]["name"] for _, item in moment.objects()] == [
        item["metadata"]["name"] for _, item in same.objects()
    ]


def test_names_of_a_redaction_are_told_with_its_key(folder: Path, capsys: Capture) -> None:
    Path("key").write_bytes(bytes(range(100, 132)))
    kept = ("--keep-namespace", "default")
    printed(capsys, "snapshot", "redact", "journal", "--key", "key", *kept, "-o", "out")
    listed = printed(capsys, "snapshot", "names", "--key", "key", "default/huge", "n0", *kept)
    words = dict(line.split() for line in listed.splitlines())
    assert words["default/huge"].startswith("default/x")
    explained = printed(capsys, "replay", "out", "--pod", words["default/huge"])
    assert "Insufficient cpu" in explained
    assert words["n0"] in explained
    assert "give the file" in refused(capsys, "snapshot", "names", "--key", "random", "n0")
    assert "cannot be read" in refused(capsys, "snapshot", "names", "--key", "none", "n0")


def test_a_moment_that_the_journal_does_not_have_writes_nothing(
    folder: Path, capsys: Capture
) -> None:
    for flags, message in (
        (("journal", "--at", "2025-01-01T00:00:00Z"), "BeforeJournal: "),
        (("journal", "--at", "2027-01-01T00:00:00Z"), "AfterJournal: "),
        (("journal", "--recorded", "2026-01-01T00:00:00Z"), "use --at"),
        (("list.json", "--at", "2026-01-01T00:00:00Z"), "--at needs a journal"),
    ):
        assert message in refused(capsys, "snapshot", "from", *flags, "-o", "d.kpsnap")
    assert not (folder / "d.kpsnap").exists()


def test_snapshots_from_other_files_and_put_together(folder: Path, capsys: Capture) -> None:
    items = [node("n1"), pod("web")]
    Path("list.json").write_text(json.dumps({"kind": "List", "apiVersion": "v1", "items": items}))
    Path("export.json").write_text(json.dumps({"pods": [pod("db")], "nodes": [node("n2")]}))
    moment = ("--recorded", "2026-01-01T00:00:00Z")
    printed(capsys, "snapshot", "from", "list.json", "export.json", *moment, "-o", "a.kpsnap")
    first = Snapshot.load("a.kpsnap")
    assert first.recordings[0].header.content.counts == {"Node": 2, "Pod": 2}
    assert first.now_ns is not None
    printed(capsys, "snapshot", "from", "export.json", "-o", "b.kpsnap")
    printed(capsys, "snapshot", "merge", "a.kpsnap", "b.kpsnap", "-o", "c.kpsnap")
    both = Snapshot.load("c.kpsnap").recordings[0].header
    assert both.content.counts == {"Node": 2, "Pod": 2}
    assert both.origin.recorded == "2026-01-01T00:00:00Z"
    assert "snapshot merge" in refused(capsys, "snapshot", "from", "a.kpsnap", "-o", "d.kpsnap")
    Path("empty.json").write_text("{}")
    assert "no object" in refused(capsys, "snapshot", "from", "empty.json", "-o", "d.kpsnap")
    assert not (folder / "d.kpsnap").exists()
    for key, name in ((b"a" * 32, "r1.kpsnap"), (b"b" * 32, "r2.kpsnap")):
        Path("key").write_bytes(key)
        printed(capsys, "snapshot", "redact", "a.kpsnap", "--key", "key", "-o", name)
    merged = ("snapshot", "merge", "r1.kpsnap", "r2.kpsnap", "-o", "d.kpsnap")
    assert "OtherKey: " in refused(capsys, *merged)
    assert not (folder / "d.kpsnap").exists()
