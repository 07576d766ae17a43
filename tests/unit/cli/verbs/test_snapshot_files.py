"""`kpolicy snapshot record` and `redact`, and recorded snapshots in every verb that takes one."""

from __future__ import annotations

import json
import stat
import threading
from asyncio import Event, run
from collections.abc import Iterator
from pathlib import Path

import pytest

from kpolicy import Origin, Snapshot, cli, write_snapshot
from kpolicy.testing import ControlPlane, node, pod
from tests.unit.offline.worlds import POLICY, cluster

KEY = "k" * 32
ORIGIN = Origin(
    recorded="2026-01-01T00:00:00Z",
    cluster_version="v1.36.2",
    resource_versions={"Pod": "12", "Node": "7"},
    left_out={"CSINode": "forbidden"},
)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name in ("KUBECONFIG", "KPOLICY_KUBECONFIG", "KUBERNETES_SERVICE_HOST"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    write_snapshot("cluster.kpsnap", cluster(), ORIGIN)
    (tmp_path / "policy.yaml").write_text(POLICY)
    (tmp_path / "key").write_text(KEY)
    return tmp_path


@pytest.fixture
def kubeconfig(folder: Path) -> Iterator[Path]:
    """Of an embedded control plane that serves in a thread of its own."""
    target = folder / "kubeconfig"
    ready, stop = threading.Event(), Event()
    loops: list[object] = []

    async def serve() -> None:
        import asyncio

        loops.append(asyncio.get_running_loop())
        async with ControlPlane() as plane:
            plane.add(node("n1", cpu="4"), pod("p1", cpu="1"), pod("p2", cpu="64"))
            plane.write_kubeconfig(target)
            ready.set()
            await stop.wait()

    thread = threading.Thread(target=lambda: run(serve()))
    thread.start()
    assert ready.wait(10)
    yield target
    loops[0].call_soon_threadsafe(stop.set)  # type: ignore[attr-defined]
    thread.join(10)


class TestEveryVerb:
    @pytest.mark.parametrize(
        "arguments",
        [
            ["explain", "--policy", "policy.yaml", "--output", "jsonl", "--snapshot"],
            ["simulate", "--policy", "policy.yaml", "--output", "jsonl", "--snapshot"],
            [
                "eval",
                "label(node, 'disk')",
                "--pod",
                "default/fits",
                "--node",
                "n1",
                "--output",
                "jsonl",
                "--snapshot",
            ],
            ["diff", "policy.yaml", "policy.yaml", "--snapshot"],
        ],
    )
    def test_takes_a_recorded_snapshot_as_it_takes_a_list(
        self, arguments: list[str], capsys: pytest.CaptureFixture[str], folder: Path
    ) -> None:
        items = [item for _, item in Snapshot.load("cluster.kpsnap").objects()]
        (folder / "cluster.json").write_text(json.dumps({"kind": "List", "items": items}))
        assert cli.main([*arguments, "cluster.kpsnap"]) == 0
        recorded = capsys.readouterr().out
        assert cli.main([*arguments, "cluster.json"]) == 0
        assert recorded == capsys.readouterr().out
        assert recorded

    @pytest.mark.parametrize("verb", ["explain", "simulate", "snapshot"])
    def test_says_what_is_wrong_with_one(
        self, verb: str, folder: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        whole = (folder / "cluster.kpsnap").read_bytes()
        (folder / "cut.kpsnap").write_bytes(whole[:-3])
        arguments = ["info"] if verb == "snapshot" else ["--snapshot"]
        assert cli.main([verb, *arguments, "cut.kpsnap"]) == 2
        out, err = capsys.readouterr()
        assert out == ""
        assert err == (
            "kpolicy: CutOff: cut.kpsnap: cut off: the end of the file is missing "
            "(copy it again from where it came, or record it again)\n"
        )


class TestInfo:
    def test_the_text_begins_with_where_it_is_from(
        self, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert cli.main(["snapshot", "info", "cluster.kpsnap"]) == 0
        lines = capsys.readouterr().out.splitlines()
        assert lines[0] == (
            "recorded  2026-01-01T00:00:00Z from Kubernetes v1.36.2 by kpolicy 0.1.0"
        )
        assert lines[1].startswith("content   sha256:")
        assert lines[2:5] == [
            "version   7 of Node",
            "version   12 of Pod",
            "missing   CSINode (forbidden)",
        ]
        assert "objects   4 Node, 4 Pod" in lines

    def test_json_has_the_header(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert cli.main(["snapshot", "info", "cluster.kpsnap", "-o", "json"]) == 0
        [recording] = json.loads(capsys.readouterr().out)["recordings"]
        assert (recording["source"], recording["recorded"]) == (
            "cluster.kpsnap",
            "2026-01-01T00:00:00Z",
        )
        assert recording["content"]["kinds"]["Node"] == {"objects": 4, "resourceVersion": "7"}
        assert "redacted" not in recording


class TestRedact:
    def test_redacted_objects_decide_alike_and_have_no_names(
        self, folder: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        arguments = ["snapshot", "redact", "cluster.kpsnap", "--key", "key"]
        assert cli.main([*arguments, "-o", "out.kpsnap", "--keep-label", "disk"]) == 0
        assert capsys.readouterr().err == "redacted 8 objects into out.kpsnap\n"
        assert stat.S_IMODE((folder / "out.kpsnap").stat().st_mode) == 0o600
        snapshot = Snapshot.load("out.kpsnap")
        [text] = snapshot.texts
        assert b"giant" not in text.body
        assert b'"disk":"ssd"' in text.body
        origin = snapshot.recordings[0].header.origin
        assert origin.recorded == ORIGIN.recorded
        assert origin.redaction is not None
        assert origin.redaction.kept_labels == ("disk",)
        shown = []
        for name in ("cluster.kpsnap", "out.kpsnap"):
            flags = ["--policy", "policy.yaml", "--snapshot", name, "-o", "jsonl"]
            assert cli.main(["simulate", *flags]) == 0
            shown.append(capsys.readouterr().out.splitlines())
        assert json.loads(shown[0][-1]) == json.loads(shown[1][-1])
        assert len(shown[0]) == 3

    def test_a_random_key_is_another_each_time(self, folder: Path) -> None:
        for name in ("a.kpsnap", "b.kpsnap"):
            assert (
                cli.main(["snapshot", "redact", "cluster.kpsnap", "--key", "random", "-o", name])
                == 0
            )
        assert (folder / "a.kpsnap").read_bytes() != (folder / "b.kpsnap").read_bytes()

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            (
                ["cluster.kpsnap", "--key", "none", "-o", "x"],
                "the key none cannot be read: No such",
            ),
            (["cluster.kpsnap", "--key", "short", "-o", "x"], "has 3 bytes; at least 16"),
            (["cluster.kpsnap", "--key", "key"], "required: --output"),
            (["cluster.kpsnap", "-o", "x"], "required: --key"),
            (["none.kpsnap", "--key", "key", "-o", "x"], "NotReadable: none.kpsnap: cannot be"),
            (["cluster.kpsnap", "--key", "key", "-o", "no/x"], "no/x cannot be written: No such"),
            (["cluster.kpsnap", "--key", "key", "-o", "."], ". cannot be written: "),
        ],
    )
    def test_bad_input_is_two_and_leaves_nothing(
        self, arguments: list[str], message: str, folder: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        (folder / "short").write_text("abc\n")
        before = sorted(folder.iterdir())
        assert cli.main(["snapshot", "redact", *arguments]) == 2
        out, err = capsys.readouterr()
        assert out == ""
        assert message in err
        assert sorted(folder.iterdir()) == before


class TestRecord:
    def test_a_cluster_becomes_a_file(
        self, kubeconfig: Path, folder: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        arguments = ["snapshot", "record", "--kubeconfig", str(kubeconfig)]
        assert cli.main([*arguments, "-o", "live.kpsnap"]) == 0
        out, err = capsys.readouterr()
        assert (out, err) == ("", "recorded 7 objects in live.kpsnap\n")
        [recording] = Snapshot.load("live.kpsnap").recordings
        counts = {kind: count for kind, count in recording.header.content.counts.items() if count}
        assert counts == {"Namespace": 4, "Node": 1, "Pod": 2}
        assert len(recording.header.content.counts) == 20
        assert len(recording.header.origin.recorded) == len("2026-01-01T00:00:00Z")
        assert len(recording.header.origin.resource_versions) == 20

    def test_a_cluster_is_followed_into_a_journal(
        self, kubeconfig: Path, folder: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        arguments = ["snapshot", "record", "--kubeconfig", str(kubeconfig)]
        assert cli.main([*arguments, "--follow", "live", "--for", "2"]) == 0
        _, err = capsys.readouterr()
        assert "every list is recorded; following" in err
        assert "lists and changes in live" in err
        assert cli.main(["replay", "live"]) == 0
        assert "kpolicy decided nothing here" in capsys.readouterr().out
        assert cli.main(["replay", "live", "--policy", "demo", "--every-pod"]) == 0
        assert capsys.readouterr().out.startswith("0 of 0 decisions")
        assert cli.main([*arguments, "--for", "2"]) == 2
        assert "--follow" in capsys.readouterr().err
        (folder / "file").write_text("")
        assert cli.main([*arguments, "--follow", "file"]) == 2
        assert "KPS211: no journal can be written in file" in capsys.readouterr().err

    def test_without_a_name_the_file_is_named_after_the_time(
        self, kubeconfig: Path, folder: Path
    ) -> None:
        assert (
            cli.main(
                ["snapshot", "record", "--kubeconfig", str(kubeconfig), "--kinds", "nodes, pods"]
            )
            == 0
        )
        [made] = folder.glob("kpolicy-*T*Z.kpsnap")
        origin = Snapshot.load(made).recordings[0].header.origin
        assert set(origin.resource_versions) == {"Node", "Pod"}
        assert len(origin.left_out) == 18

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            (["--kinds", "pod"], "`pod` is not a kind that is recorded; did you mean `pods`?"),
            (["--kinds", "secrets"], "`secrets` is not a kind that is recorded"),
            (["--kinds", ","], "--kinds has no name of a kind"),
            (["--kubeconfig", "none"], "KPC101: there is no kubeconfig at none"),
            ([], "KPC113"),
        ],
    )
    def test_bad_input_is_two_and_leaves_nothing(
        self, arguments: list[str], message: str, folder: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        before = sorted(folder.iterdir())
        assert cli.main(["snapshot", "record", *arguments]) == 2
        out, err = capsys.readouterr()
        assert out == ""
        assert message in err
        assert len(err.splitlines()) == 1
        assert sorted(folder.iterdir()) == before


def test_a_snapshot_of_the_embedded_control_plane_is_of_our_release(
    kubeconfig: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    record = ["snapshot", "record", "--kubeconfig", str(kubeconfig), "-o", "own.kpsnap"]
    assert cli.main(record) == 0
    assert cli.main(["lint", "--isolated", "--select", "KP504", "demo", "-s", "own.kpsnap"]) == 0
    assert "no findings" in capsys.readouterr().err
