"""Files, folders, snapshots, and work shared among processes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kpolicy.offline.policy_tests.session import run_tests
from kpolicy.testing import node, pod
from tests.unit.offline.policy_tests.suites import HEAD, NODES, POLICY

SNAPSHOT_TESTS = """\
policies: [policy.yaml]
snapshot: cluster.json
tests:
  - name: a pod that is placed is judged as if it were not there
    podFrom: {snapshot: there}
    expect: {node: n1}
  - name: a patched pod
    podFrom: {snapshot: shop/waits}
    patch:
      - {op: add, path: /spec/priority, value: 5000}
      - {op: replace, path: /metadata/labels/app, value: other}
    expect: {filters: {n2: {rejectedBy: off-spot}}}
  - name: what is written comes to what was recorded
    nodes: [{name: n3, labels: {disk: ssd}}]
    pod: {nodeSelector: {}}
    expect: {best: [n1, n3]}
  - name: no such pod
    podFrom: {snapshot: shop/wait}
    expect: {node: n1}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "policy.yaml").write_text(POLICY)
    items = [
        node("n1", labels={"disk": "ssd"}),
        node("n2", labels={"life": "spot"}),
        pod("there", cpu="3", node_name="n1"),
        pod("waits", "shop", labels={"app": "shop"}, scheduler_name="other"),
    ]
    listed = {"apiVersion": "v1", "kind": "List", "items": items}
    (tmp_path / "cluster.json").write_text(json.dumps(listed))
    (tmp_path / "snapshot.test.yaml").write_text(HEAD + SNAPSHOT_TESTS)
    return tmp_path


def write_many(folder: Path, count: int) -> None:
    lines = [
        f"  - {{name: t{index}, pod: {{}}, expect: {{node: n{2 if index == 70 else 1}}}}}"
        for index in range(count)
    ]
    text = HEAD + "policies: [policy.yaml]\n" + NODES + "tests:\n" + "\n".join(lines) + "\n"
    (folder / "many.test.yaml").write_text(text)


def test_snapshots_give_nodes_and_pods(folder: Path) -> None:
    run = run_tests(folder)
    results = {test.name: test for _, test in run.tests()}
    assert [test.has_passed for test in results.values()] == [True, True, True, False]
    [diagnostic] = results["no such pod"].diagnostics
    assert (diagnostic.code, diagnostic.hint) == ("KP501", "did you mean `shop/waits`?")


def test_a_param_need_not_be_of_every_suite(folder: Path) -> None:
    text = HEAD.replace("suite", "other") + "nodes: [{name: n1}]\ntests:\n"
    text += "  - {name: a, pod: {}, expect: {decision: place}}\n"
    (folder / "other.test.yaml").write_text(text)
    passed = run_tests(folder, params={"critical": 9}, run="^other/")
    assert [test.has_passed for _, test in passed.tests()] == [True]
    assert passed.all_diagnostics() == ()
    unknown = run_tests(folder / "other.test.yaml", params={"critical": 9})
    assert [diagnostic.code for diagnostic in unknown.all_diagnostics()] == ["KP124"]


def test_a_snapshot_that_is_not_there_is_reported(folder: Path) -> None:
    (folder / "cluster.json").unlink()
    run = run_tests(folder / "snapshot.test.yaml")
    assert [diagnostic.code for diagnostic in run.all_diagnostics()] == ["KP501"]
    assert not run.is_fine


def test_a_folder_gives_its_test_files_in_order(folder: Path) -> None:
    write_many(folder, 2)
    (folder / ".hidden").mkdir()
    (folder / ".hidden" / "x.test.yaml").write_text("kind: none")
    run = run_tests(folder)
    files = [Path(suite.file).name for suite in run.suites]
    assert files == ["many.test.yaml", "snapshot.test.yaml"]


def test_processes_give_what_one_gives(folder: Path) -> None:
    write_many(folder, 120)
    serial, two = run_tests(folder), run_tests(folder, jobs=2)
    assert serial.passed == 122
    assert [test.name for _, test in two.tests()] == [test.name for _, test in serial.tests()]
    assert (two.passed, two.failed) == (serial.passed, serial.failed)
    assert [item.seen for item in two.coverage[0].items] == [
        item.seen for item in serial.coverage[0].items
    ]


def test_the_first_failure_ends_a_run_that_is_to_fail_fast(folder: Path) -> None:
    write_many(folder, 120)
    run = run_tests(folder / "many.test.yaml", fail_fast=True)
    assert (run.passed, run.failed, run.left_out) == (70, 1, 49)


def test_names_choose(folder: Path) -> None:
    write_many(folder, 12)
    run = run_tests(folder, run="suite/t1[01]?$")
    assert [test.name for _, test in run.tests()] == ["t1", "t10", "t11"]
    assert len(run.suites) == 1
