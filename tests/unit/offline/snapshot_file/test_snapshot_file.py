"""Recorded snapshots: equal objects give equal bytes, and every damage has a code."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import stat
import sys
from collections.abc import Callable
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Any

import pytest
import zstandard

import kpolicy
from kpolicy import Origin, Problem, Snapshot, write_snapshot
from kpolicy.api_times import api_time
from kpolicy.offline.limits import FILE_BYTES_MAX
from kpolicy.offline.snapshot_file.reader import (
    HEADER_AT,
    MAGIC,
    PREFIX,
    Content,
    Header,
    Recording,
    Redaction,
    decode,
    encode,
    read_recording,
)
from kpolicy.offline.snapshots.snapshot_problem import (
    CUT_OFF,
    DAMAGED,
    NEWER_FORMAT,
    NOT_A_SNAPSHOT,
    TOO_LARGE_WHOLE,
)
from kpolicy.testing import node, pod
from tests.unit.offline.worlds import cluster, program

ORIGIN = Origin(
    recorded="2026-01-01T00:00:00Z",
    cluster_version="v1.36.2",
    resource_versions={"Pod": "12", "Node": "12"},
    left_out={"CSINode": "forbidden"},
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    target = tmp_path / "cluster.kpsnap"
    assert write_snapshot(target, cluster(), ORIGIN) == []
    return target


def problem_of(packed: bytes) -> Problem:
    found = read_recording("x.kpsnap", packed)
    assert isinstance(found, Problem)
    assert (found.source, found.is_of_whole_source) == ("x.kpsnap", True)
    return found


def packed_as(header: Header, body: bytes, version: int = 1) -> bytes:
    text = encode(header)
    return MAGIC + PREFIX.pack(version, len(text), hashlib.sha256(text).digest()) + text + body


def content_of(text: bytes) -> Content:
    return Content(len(text), hashlib.sha256(text).hexdigest(), {})


class TestWhatIsWritten:
    def test_it_is_the_same_cluster(self, path: Path) -> None:
        snapshot = Snapshot.load(path)
        want = Snapshot.of(cluster()).engine(program())
        engine = snapshot.engine(program())
        assert snapshot.problems == ()
        assert sorted(engine.pending()) == sorted(want.pending())
        assert sorted(engine.explain(b"{}", 0).splitlines()) == sorted(
            want.explain(b"{}", 0).splitlines()
        )
        assert len(engine.pending()) == 3
        assert snapshot.inventory.problems == []

    def test_the_header_says_where_it_is_from(self, path: Path) -> None:
        [recorded] = Snapshot.load(path).recordings
        assert recorded.source == str(path)
        assert recorded.header.origin == ORIGIN
        assert recorded.header.kpolicy_version == kpolicy.__version__
        assert recorded.header.content.counts == {"Node": 4, "Pod": 4}

    def test_the_same_objects_are_the_same_bytes_in_whatever_order(
        self, path: Path, tmp_path: Path
    ) -> None:
        seen = {path.read_bytes()}
        for seed in range(20):
            items = [dict(reversed(item.items())) for item in cluster()]
            Random(seed).shuffle(items)
            write_snapshot(tmp_path / "again.kpsnap", items, ORIGIN)
            seen.add((tmp_path / "again.kpsnap").read_bytes())
        assert len(seen) == 1

    def test_another_time_changes_the_header_and_not_the_content(
        self, path: Path, tmp_path: Path
    ) -> None:
        write_snapshot(tmp_path / "b.kpsnap", cluster(), Origin(recorded=api_time(10**18)))
        [first], [other] = (
            Snapshot.load(each).recordings for each in (path, tmp_path / "b.kpsnap")
        )
        assert other.header.origin.recorded == "2001-09-09T01:46:40Z"
        assert other.header.content == first.header.content

    def test_a_repeated_object_counts_as_read_last(self, tmp_path: Path) -> None:
        old, new = pod("p", cpu="1"), pod("p", cpu="2")
        old["metadata"]["uid"] = new["metadata"]["uid"] = "u"
        other = pod("p", cpu="3")
        other["metadata"]["uid"] = "v"
        write_snapshot(tmp_path / "a.kpsnap", [old, node("n"), other, new])
        pods = [item for _, item in Snapshot.load(tmp_path / "a.kpsnap").objects()][1:]
        assert pods == [new, other]

    def test_what_should_not_travel_is_not_in_it(self, tmp_path: Path) -> None:
        secret = {"name": "PASSWORD", "value": "hunter2"}
        item = pod("p")
        item["spec"]["containers"][0] |= {
            "env": [secret],
            "args": ["hunter2"],
            "command": ["hunter2"],
            "livenessProbe": {"httpGet": {"httpHeaders": [secret]}},
        }
        item["spec"]["initContainers"] = [{"name": "i", "env": [secret]}]
        item["spec"]["ephemeralContainers"] = [{"name": "e", "env": [secret]}]
        item["metadata"]["managedFields"] = [{"manager": "hunter2"}]
        item["metadata"]["annotations"] = {
            "kubectl.kubernetes.io/last-applied-configuration": "hunter2",
            "kept": "yes",
        }
        controllers = [
            {
                "apiVersion": "apps/v1",
                "kind": kind,
                "metadata": {"name": "c"},
                "spec": {
                    "selector": {"matchLabels": {"a": "b"}},
                    "template": {"spec": item["spec"]},
                },
            }
            for kind in ("ReplicaSet", "StatefulSet")
        ]
        target = tmp_path / "a.kpsnap"
        assert write_snapshot(target, [item, *controllers]) == []
        [text] = Snapshot.load(target).texts
        assert b"hunter2" not in text.body
        assert text.body.count(b'"matchLabels":{"a":"b"}') == 2
        assert b'"annotations":{"kept":"yes"}' in text.body

    def test_what_no_rule_reads_or_is_no_json_is_reported(self, tmp_path: Path) -> None:
        secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}}
        strange = pod("odd")
        strange["spec"]["priority"] = float("nan")
        nameless = {"apiVersion": "v1", "kind": "Pod", "metadata": {}}
        problems = write_snapshot(tmp_path / "a.kpsnap", [secret, strange, nameless, node("n")])
        assert [problem.object for problem in problems] == ["Secret s", "Pod odd", "Pod"]
        [recorded] = Snapshot.load(tmp_path / "a.kpsnap").recordings
        assert recorded.header.content.counts == {"Node": 1}

    def test_the_file_is_its_owners_and_replaces_whole(self, path: Path) -> None:
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        before = path.read_bytes()

        def failing() -> Any:
            yield node("n")
            raise RuntimeError("the source broke off")

        with pytest.raises(RuntimeError, match="broke off"):
            write_snapshot(path, failing(), ORIGIN)
        assert path.read_bytes() == before
        assert [each.name for each in path.parent.iterdir()] == [path.name]

    def test_a_device_is_not_replaced(self, tmp_path: Path) -> None:
        write_snapshot("/dev/null", cluster())
        assert Path("/dev/null").is_char_device()

    def test_an_empty_cluster_is_one(self, tmp_path: Path) -> None:
        write_snapshot(tmp_path / "a.kpsnap", [])
        snapshot = Snapshot.load(tmp_path / "a.kpsnap")
        assert snapshot.problems == ()
        assert list(snapshot.objects()) == []


class TestWhereverAListIsRead:
    def test_in_a_folder_packed_again_and_from_standard_input(
        self, path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        folder = tmp_path / "folder"
        folder.mkdir()
        packed = path.read_bytes()
        (folder / "a.kpsnap").write_bytes(packed)
        (folder / "more.json").write_text(json.dumps(node("n9")))
        (tmp_path / "b.kpsnap.gz").write_bytes(gzip.compress(packed))
        (tmp_path / "by-content").write_bytes(packed)
        monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(packed)))
        looked_at = 0
        for argument, nodes in (
            (folder, 5),
            (tmp_path / "b.kpsnap.gz", 4),
            (tmp_path / "by-content", 4),
            ("-", 4),
        ):
            snapshot = Snapshot.load(argument)
            assert snapshot.problems == ()
            assert len(snapshot.inventory.nodes()) == nodes
            assert len(snapshot.recordings) == 1
            looked_at += 1
        assert looked_at == 4


class TestDamage:
    def test_every_cut_file_is_reported_as_cut(self, path: Path) -> None:
        packed = path.read_bytes()
        codes = [problem_of(packed[:length]).code for length in range(len(packed))]
        assert len(codes) > 500
        assert set(codes) == {CUT_OFF}

    def test_every_changed_byte_is_reported_or_has_no_effect(self, path: Path) -> None:
        """zstd leaves a few bits of its own frame unused."""
        packed = path.read_bytes()
        want = read_recording("", packed)
        looked_at = harmless = 0
        for at in range(len(packed)):
            for change in (0x01, 0x80):
                broken = bytearray(packed)
                broken[at] ^= change
                looked_at += 1
                found = read_recording("", bytes(broken))
                if isinstance(found, Problem):
                    assert found.code in {DAMAGED, CUT_OFF, NEWER_FORMAT, NOT_A_SNAPSHOT}, at
                else:
                    assert found == want, at
                    harmless += 1
        assert looked_at > 1000
        assert harmless < 10

    def test_more_than_was_written_is_damage(self, path: Path) -> None:
        assert problem_of(path.read_bytes() + b"x").code == DAMAGED
        assert problem_of(path.read_bytes() * 2).code == DAMAGED

    def test_what_is_foreign_is_reported_with_a_way_out(self) -> None:
        problem = problem_of(b'{"kind": "List"}')
        assert problem.code == NOT_A_SNAPSHOT
        assert "kpolicy snapshot record" in problem.hint

    def test_what_is_newer_asks_for_a_newer_kpolicy(self, path: Path) -> None:
        packed = bytearray(path.read_bytes())
        packed[len(MAGIC) : len(MAGIC) + 2] = (3).to_bytes(2, "big")
        problem = problem_of(bytes(packed))
        assert problem.code == NEWER_FORMAT
        assert "format 3" in problem.message
        assert "newer kpolicy" in problem.hint

    @pytest.mark.parametrize(
        "change",
        [
            lambda shown: [],
            lambda shown: {},
            lambda shown: shown | {"content": shown["content"] | {"bytes": -1}},
            lambda shown: shown | {"content": shown["content"] | {"bytes": "1"}},
            lambda shown: shown | {"content": shown["content"] | {"kinds": []}},
            lambda shown: shown | {"leftOut": {"Pod": 1}},
            lambda shown: shown | {"recorded": None},
            lambda shown: shown | {"redacted": True},
        ],
    )
    def test_a_header_of_another_form_is_damage(
        self, path: Path, change: Callable[[Any], Any]
    ) -> None:
        packed = path.read_bytes()
        length = PREFIX.unpack_from(packed, len(MAGIC))[1]
        shown = json.loads(packed[HEADER_AT : HEADER_AT + length])
        text = json.dumps(change(shown)).encode()
        assert decode(text) is None
        prefix = PREFIX.pack(1, len(text), hashlib.sha256(text).digest())
        assert problem_of(MAGIC + prefix + text + packed[HEADER_AT + length :]).code == DAMAGED

    def test_fields_to_come_are_passed_over(self) -> None:
        header = Header(ORIGIN, Content(0, "", {"Node": 4, "Pod": 4}))
        shown = json.loads(encode(header)) | {"weather": "fine"}
        assert decode(json.dumps(shown).encode()) == header
        redacted = Header(Origin(redaction=Redaction(("a",), ("b",))), content_of(b""))
        assert decode(encode(redacted)) == redacted

    def test_a_bomb_is_not_unpacked(self) -> None:
        bomb = zstandard.ZstdCompressor().compress(b"\0" * (64 << 20))
        assert len(bomb) < 10_000
        small = Header(Origin(), Content(100, "", {}))
        assert problem_of(packed_as(small, bomb)).code == DAMAGED
        huge = Header(Origin(), Content(FILE_BYTES_MAX + 1, "", {}))
        assert problem_of(packed_as(huge, bomb)).code == TOO_LARGE_WHOLE
        # A frame that does not say how much is in it, and one that says too little.
        stream = zstandard.ZstdCompressor(write_content_size=False).compress(b"\0" * (1 << 20))
        assert problem_of(packed_as(small, stream)).code == DAMAGED

    def test_right_sizes_and_a_wrong_hash_are_damage(self) -> None:
        text = b'{"a":1}\n'
        body = zstandard.ZstdCompressor().compress(text)
        assert isinstance(
            read_recording("", packed_as(Header(Origin(), content_of(text)), body)), Recording
        )
        other = Header(Origin(), content_of(b'{"a":2}\n'))
        assert "hashes differ" in problem_of(packed_as(other, body)).message
