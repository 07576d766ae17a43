"""Tests of policies in which plugins are asked too."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kpolicy import cli
from kpolicy.offline.policy_tests.results import PolicyTestRun
from kpolicy.offline.policy_tests.session import Choice, Session
from kpolicy.plugins.loading import load_plugins
from kpolicy.policy.yaml.source import Source
from kpolicy.testing import node, pod
from tests.unit.offline.policy_tests.suites import HEAD, POLICY

MODULE = """
from kpolicy.plugins import Refuse, Wait

class Gate:
    reads_bound_pods = True
    def __init__(self, handle):
        self.handle = handle
    async def pre_enqueue(self, pod):
        return Refuse("it is too early") if pod.labels.get("early") else None
    async def permit(self, pod, node):
        here = [other.name for other in self.handle.pods_on_nodes() if other.node == node]
        if pod.labels.get("single") and here:
            return Refuse(f"{here[0]} is there")
        return Wait(60) if pod.labels.get("waits") else None

class Broken:
    async def permit(self): ...
"""
TESTS = """\
policies: [small.yaml]
nodes: [{name: n1, allocatable: {cpu: 2}}]
tests:
  - name: the answers of plugins are decisions
    sequence:
      - {pod: {labels: {early: "yes"}}, expect: {decision: gate, message: it is too early}}
      - pod: {labels: {waits: "yes"}, requests: {cpu: 1}}
        expect: {decision: park, message: "waits on Permit: Gate"}
      - pod: {requests: {cpu: 2}}
        expect: {decision: park, message: {matches: "0/1 nodes are available: 1 Insuff.*"}}
      - {pod: {requests: {cpu: 1}}, expect: {decision: place, node: n1}}
  - name: every test has plugins of its own
    running: [{name: there, node: n1}]
    pod: {labels: {single: "yes"}}
    expect: {decision: park, message: "0/1 nodes are available: 1 there is there."}
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "gate_of_tests.py").write_text(MODULE)
    (tmp_path / "small.yaml").write_text(POLICY)
    (tmp_path / "s.test.yaml").write_text(HEAD + TESTS)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(text: str) -> PolicyTestRun:
    plugins = load_plugins(["gate_of_tests:Gate"], of_packages=False)
    assert isinstance(plugins, tuple), plugins
    return Session([Source("s.test.yaml", text)], Choice(plugins=plugins)).run()


def test_the_answers_of_plugins_are_decisions() -> None:
    ran = run(HEAD + TESTS)
    assert ran.is_fine, [test for _, test in ran.tests()]
    assert [test.pods for _, test in ran.tests()] == [4, 1]


def test_a_replay_asks_plugins_and_waits_end(folder: Path) -> None:
    single: dict[str, Any] = {"single": "yes"}
    items = [
        node("n1", cpu="4"),
        pod("a", cpu="1", labels=single, node_name="n1"),
        pod("b", cpu="1", labels=single, node_name="n1"),
        pod("c", cpu="1", labels={"waits": "yes"}),
    ]
    (folder / "c.json").write_text(json.dumps({"kind": "List", "items": items}))
    replay = "policies: [small.yaml]\nsnapshot: c.json\n"
    replay += "tests: [{name: a, replay: {pods: all}, expect: {placed: {atLeast: 1, atMost: 1}}}]\n"
    [(_, test)] = run(HEAD + replay).tests()
    assert (test.mismatches, test.diagnostics, test.pods) == ((), (), 3)


def test_commands_take_plugins_and_name_what_is_none(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["test", "s.test.yaml"]) == 1, "without the plugin, pods are placed"
    assert cli.main(["test", "s.test.yaml", "--plugin=gate_of_tests:Gate", "--jobs=2"]) == 0
    (folder / "c.json").write_text(json.dumps(pod("p", labels={"early": "yes"})))
    simulated = ["simulate", "--snapshot=c.json", "--policy=small.yaml", "--output=jsonl"]
    capsys.readouterr()
    assert cli.main([*simulated, "--plugin=gate_of_tests:Gate"]) == 0
    first = capsys.readouterr().out.splitlines()[0]
    assert json.loads(first) == {"pod": "default/p", "message": "it is too early"}
    for command in (["test", "s.test.yaml"], simulated):
        assert cli.main([*command, "--plugin=gate_of_tests:Broken"]) == 2
        assert "KPS209" in capsys.readouterr().err
