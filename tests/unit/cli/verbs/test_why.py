"""`kpolicy why` on a live cluster: pods that wait and pods on nodes, beside kube-scheduler and
kpolicy."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from kpolicy import cli
from kpolicy.scheduler.delivery.sources import FixedSource
from kpolicy.testing import ControlPlane, node, pod
from tests.unit.offline.pages.page_reading import chart, rows
from tests.unit.offline.worlds import POLICY
from tests.unit.scheduler.world import free_port, on_port, policy, running

Capture = pytest.CaptureFixture[str]
DEFAULT = "default-scheduler"
PENDING = """\
shop/search is pending: none of 3 nodes takes it

  rejected nodes, by the first rule that rejects
    2  Insufficient cpu (NodeResourcesFit)                               n1, n2
    1  node(s) didn't match Pod's node affinity/selector (NodeAffinity)  n3
  also rejected by
    1  Insufficient cpu (NodeResourcesFit)

  preemption: no potential nodes

  nearest to taking it
    n1  Insufficient cpu (4 of 6 cpu free) [NodeResourcesFit]
    n2  Insufficient cpu (3 of 6 cpu free) [NodeResourcesFit]
    n3  node(s) didn't match Pod's node affinity/selector [NodeAffinity]; Insufficient cpu \
(2 of 6 cpu free) [NodeResourcesFit]

  would place it, the smallest change first
    1.  request 4 cpu instead of 6  → n1

  what to do
    NodeResourcesFit  add a node with enough room, free some, or request less: it asks for 6 cpu, \
and n1 has most free, 4
    NodeAffinity      give a node the labels that the pod asks for (disk=ssd), or ask for others

  tried again when
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name in ("KUBECONFIG", "KPOLICY_KUBECONFIG", "KPOLICY_SCHEDULER"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path


@pytest.fixture
async def plane(folder: Path) -> AsyncIterator[ControlPlane]:
    async with ControlPlane() as control_plane:
        search = pod("search", "shop", cpu="6", scheduler_name=DEFAULT)
        search["spec"]["nodeSelector"] = {"disk": "ssd"}
        control_plane.add(
            {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}},
            node("n1", cpu="4", labels={"disk": "ssd"}),
            node("n2", cpu="4", labels={"disk": "ssd"}),
            node("n3", cpu="2"),
            search,
            pod("cart", "shop", cpu="1", scheduler_name=DEFAULT, node_name="n2"),
            pod("new", "shop", cpu="1", scheduler_name=DEFAULT),
            pod("gated", "shop", scheduling_gates=["team/quota"], scheduler_name=DEFAULT),
            pod("ours", "shop", cpu="1"),
        )
        control_plane.write_kubeconfig(folder / "kubeconfig")
        yield control_plane


async def why(*arguments: str) -> int:
    """In another thread, as the control plane serves in this one."""
    return await asyncio.to_thread(cli.main, ["why", "--kubeconfig", "kubeconfig", *arguments])


@pytest.mark.usefixtures("plane")
class TestBesideKubeScheduler:
    async def test_a_pending_pod_has_reasons_with_counts_and_what_to_do(
        self, capsys: Capture
    ) -> None:
        assert await why("search", "-n", "shop") == 0
        out, err = capsys.readouterr()
        assert out.startswith(PENDING)
        assert out.endswith("\njudged by kube-scheduler's default profile, here\n")
        assert err == ""
        for written in ("shop/search", "pod/search"):
            assert await why(written, "-n", "shop") == 0
            assert capsys.readouterr().out == out

    async def test_a_placed_pod_says_why_there(self, capsys: Capture) -> None:
        assert await why("shop/cart") == 0
        out = capsys.readouterr().out
        assert out.startswith(
            "shop/cart is on n2\nif it were placed again now, 3 of 3 nodes would take it, and n2 "
            "is the best with "
        )
        assert "scores of 3 nodes, raw → weighted" in out

    async def test_a_pod_that_nobody_tried_and_one_with_gates(self, capsys: Capture) -> None:
        assert await why("shop/new") == 0
        out = capsys.readouterr().out
        assert out.startswith("shop/new is pending, but 3 of 3 nodes would take it now; ")
        assert "no scheduler has tried it yet: is one running that serves `default-sched" in out
        assert await why("shop/gated") == 0
        out = capsys.readouterr().out
        assert out.startswith(
            "shop/gated is pending: its scheduling gates hold it (team/quota)\nwhoever set them"
        )

    async def test_json_has_the_explanation(self, capsys: Capture) -> None:
        assert await why("shop/search", "-o", "jsonl") == 0
        (line,) = capsys.readouterr().out.splitlines()
        assert await why("shop/search", "-o", "json") == 0
        shown = json.loads(capsys.readouterr().out)
        assert shown == {"version": 1, "kind": "why", **json.loads(line)}
        assert (shown["version"], shown["kind"]) == (1, "why")
        assert shown["situation"] == "fits nowhere"
        assert shown["rejectedBy"] == {"NodeResourcesFit": 2, "NodeAffinity": 1}
        assert len(shown["explanation"]["nodes"]) == 3

    async def test_a_page_has_a_map_of_the_listed_nodes(
        self, folder: Path, capsys: Capture
    ) -> None:
        assert await why("shop/search", "--html", "page.html") == 0
        printed = capsys.readouterr()
        assert printed.out.startswith(PENDING)
        assert printed.err == "page.html is written\n"
        page = (folder / "page.html").read_text()
        assert [row[3] for row in rows(page, "What would place the pod")]
        (zone,) = chart(page, "Map of the nodes")["option"]["series"][0]["data"]
        assert sorted(each["name"] for each in zone["children"]) == ["n1", "n2", "n3"]

    async def test_the_page_of_a_pod_with_gates_says_what_holds_it(self, folder: Path) -> None:
        assert await why("shop/gated", "--html", "page.html") == 0
        page = (folder / "page.html").read_text()
        assert "What holds it" in page
        assert "team/quota" in page

    async def test_what_cannot_be_answered_is_two_with_a_hint(self, capsys: Capture) -> None:
        assert await why("serch", "-n", "shop") == 2
        err = capsys.readouterr().err
        assert "there is no pod serch in the namespace shop; did you mean `search`?" in err
        assert await why("shop/ours") == 2
        assert "the scheduler of this pod is `kpolicy`: give its policy" in capsys.readouterr().err
        assert await why("shop/cart", "-n", "other") == 2
        assert await why("shop/cart", "--context", "none") == 2
        assert "KPC105" in capsys.readouterr().err


async def test_a_policy_of_a_file_or_of_the_cluster_judges_its_pods(
    plane: ControlPlane, folder: Path, capsys: Capture
) -> None:
    (folder / "policy.yaml").write_text(POLICY)
    assert await why("shop/ours", "--policy", "policy.yaml") == 0
    out = capsys.readouterr().out
    assert "prefer-ssd" in out
    assert out.endswith("judged by the policy small, here\n")
    plane.add(
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": "policy", "namespace": "shop"},
            "data": {"policy.yaml": POLICY},
        }
    )
    assert await why("shop/ours", "--policy-configmap", "shop/policy") == 0
    assert capsys.readouterr().out.endswith("judged by the policy of shop/policy, here\n")
    assert await why("shop/ours", "--policy-configmap", "shop/none") == 2
    assert "there is no ConfigMap shop/none" in capsys.readouterr().err


async def test_a_running_kpolicy_answers_and_otherwise_the_cluster_is_listed(
    plane: ControlPlane, capsys: Capture
) -> None:
    plane.add(pod("giant", "shop", cpu="64"))
    async with running(
        plane, options=on_port(free_port()), source=FixedSource([policy()])
    ) as world:
        await world.until(lambda: "ours" in world.placed())
        assert await why("shop/giant", "--scheduler", world.scheduler.url) == 0
        out, err = capsys.readouterr()
        assert out.startswith("shop/giant is pending: none of 3 nodes takes it\n")
        assert "in its queue: unschedulable for " in out
        assert out.endswith(f"judged by the kpolicy at {world.scheduler.url}\n")
        assert err == ""
        asked = ["explain", "--live", "--scheduler", world.scheduler.url, "--pod", "shop/giant"]
        assert await asyncio.to_thread(cli.main, [*asked, "-o", "json"]) == 0
        (shown,) = json.loads(capsys.readouterr().out)["explanations"]
        assert (shown["pod"], shown["queue"]["lane"]) == ("shop/giant", "unschedulable")
        assert await asyncio.to_thread(cli.main, asked) == 0
        assert capsys.readouterr().out.startswith("shop/giant: fits none of 3 nodes\n")
    gone = f"http://127.0.0.1:{free_port()}"
    assert await why("shop/search", "--scheduler", gone) == 0
    out, err = capsys.readouterr()
    assert out.startswith("shop/search is pending: none of 3 nodes takes it\n")
    assert "does not answer" in err
    assert "the cluster is listed instead" in err


async def test_explain_takes_the_live_cluster(plane: ControlPlane, capsys: Capture) -> None:
    def explain(*arguments: str) -> int:
        return cli.main(["explain", *arguments])

    live = ("--live", "--kubeconfig", "kubeconfig")
    assert await asyncio.to_thread(explain, *live, "--pod", "shop/search", "-o", "json") == 0
    shown: dict[str, Any] = json.loads(capsys.readouterr().out)["explanations"][0]
    assert [each["name"] for each in shown["nodes"]] == ["n1", "n2", "n3"]
    assert await asyncio.to_thread(explain, *live, "-s", "x.json") == 2
    assert "two clusters" in capsys.readouterr().err


def test_it_is_called_as_a_plugin_of_kubectl(
    monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.setattr("sys.argv", ["/usr/local/bin/kubectl-kpolicy", "why", "--help"])
    assert cli.main() == 0
    assert capsys.readouterr().out.startswith("usage: kubectl kpolicy why ")
