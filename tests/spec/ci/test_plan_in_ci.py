"""The steps of the GitHub Action and of the GitLab template, run in a repository with a change of
its policy.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from kpolicy.testing import node, pod
from kpolicy.version import VERSION
from tests.spec.ci.fake_api import Comments, api
from tests.tree.sources import ROOT
from tests.unit.offline.worlds import POLICY, listed

ACTION = yaml.safe_load((ROOT / "deploy/ci/github/action.yml").read_text("utf-8"))
TEMPLATE = yaml.safe_load((ROOT / "deploy/ci/gitlab/plan.gitlab-ci.yml").read_text("utf-8"))
FENCED = POLICY.replace(
    "  priorities",
    "    - name: fence\n      expression: label(node, 'disk') != 'ssd'\n  priorities",
)
MARKER = "<!-- kpolicy plan: policies/shop.yaml -->"


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A clone whose policy differs from that of its origin."""
    origin, clone = tmp_path / "origin", tmp_path / "clone"
    (origin / "policies").mkdir(parents=True)
    (origin / "policies" / "shop.yaml").write_text(POLICY)
    objects = [node("n1", labels={"disk": "ssd"}), pod("web", cpu="1")]
    (origin / "cluster one.json").write_text(listed(objects))
    git(origin, "init", "--quiet", "--initial-branch=main")
    git(origin, "add", ".")
    git(origin, "commit", "--quiet", "-m", "first")
    git(tmp_path, "clone", "--quiet", str(origin), str(clone))
    (clone / "policies" / "shop.yaml").write_text(FENCED)
    return clone


def git(folder: Path, *words: str) -> str:
    names = ("GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL")
    known = dict.fromkeys(names, "tester@example.com")
    quiet = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
    done = subprocess.run(
        ["git", *words],
        cwd=folder,
        env={**os.environ, **known, **quiet},
        check=True,
        capture_output=True,
        text=True,
    )
    return done.stdout.strip()


def shell(
    script: str, folder: Path, shell: str = "bash", **variables: str
) -> subprocess.CompletedProcess[str]:
    binaries = folder.parent / "bin"
    binaries.mkdir(exist_ok=True)
    command = binaries / "kpolicy"
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m kpolicy "$@"\n')
    command.chmod(0o755)
    environment = {
        "PATH": f"{binaries}:{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT / "python"),
        "HOME": str(folder.parent),
        **variables,
    }
    words = [shell, "-e", "-c", script]
    return subprocess.run(
        words, cwd=folder, env=environment, check=False, capture_output=True, text=True, timeout=100
    )


class Workflow:
    """Runs the steps of the action, with what GitHub would put in for the expressions."""

    def __init__(self, repository: Path, address: str, **inputs: str) -> None:
        self.repository = repository
        self.temp = repository.parent
        written = {name: each.get("default", "") for name, each in ACTION["inputs"].items()}
        written |= {"policy": "policies/shop.yaml", "snapshots": "cluster one.json\n", **inputs}
        self.values = {f"inputs.{name}": value for name, value in written.items()}
        self.values |= {
            "inputs.token": "secret",
            "github.event.pull_request.base.sha": git(repository, "rev-parse", "HEAD"),
            "github.event.pull_request.number": "7",
            "github.api_url": address,
            "github.repository": "shop/policies",
            "runner.temp": str(self.temp),
        }

    def step(self, name: str) -> subprocess.CompletedProcess[str]:
        (step,) = (each for each in ACTION["runs"]["steps"] if each["name"] == name)
        environment = {
            key: re.sub(r"\$\{\{ (.*?) \}\}", lambda found: self.values[found[1]], value)
            for key, value in step.get("env", {}).items()
        }
        assert "${{" not in step["run"], "a value of a user would be text of a script"
        files = ("GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY")
        environment |= {name: str(self.temp / name) for name in files}
        return shell(step["run"], self.repository, **environment)

    @property
    def outputs(self) -> str:
        return (self.temp / "GITHUB_OUTPUT").read_text()


def test_a_pull_request_gets_one_comment_that_is_replaced(repository: Path) -> None:
    comments = Comments([f"comment {number}" for number in range(150)])
    with api(comments) as address:
        workflow = Workflow(repository, address, **{"fail-on": "parked > 0\nplaced > 5\n"})
        done = workflow.step("Plan")
        assert done.returncode == 0, done.stderr
        assert "failed: parked > 0" in done.stdout
        assert workflow.outputs == "failed=true\n"
        assert MARKER in (workflow.temp / "GITHUB_STEP_SUMMARY").read_text()
        assert git(repository, "status", "--porcelain") == "M policies/shop.yaml"
        for _ in range(2):
            done = workflow.step("Comment")
            assert done.returncode == 0, done.stderr
    assert len(comments.bodies) == 151
    assert comments.bodies[-1].startswith(f"{MARKER}\n")
    assert "- **failed**: `parked > 0`\n- holds: `placed > 5`" in comments.bodies[-1]
    methods = [method for method, _ in comments.calls if method != "GET"]
    assert methods == ["POST", "PATCH"]
    assert comments.tokens == {"Bearer secret"}
    assert workflow.step("Verdict").returncode == 1


def test_a_policy_that_is_new_is_compared_with_kube_scheduler(repository: Path) -> None:
    (repository / "policies" / "new.yaml").write_text(FENCED)
    workflow = Workflow(
        repository, "", policy="policies/new.yaml", arguments="--every-pod --seed 3"
    )
    done = workflow.step("Plan")
    assert done.returncode == 0, done.stderr
    assert "kube-scheduler-default → policies/new.yaml" in done.stdout
    assert workflow.outputs == "failed=false\n"


def test_a_token_that_may_not_write_fails_nothing(repository: Path) -> None:
    comments = Comments(refuses=403)
    with api(comments) as address:
        workflow = Workflow(repository, address)
        assert workflow.step("Plan").returncode == 0
        done = workflow.step("Comment")
    assert done.returncode == 0, done.stderr
    assert "::warning::the token may not write comments (403)" in done.stdout


def test_input_that_cannot_be_read_fails_the_check(repository: Path) -> None:
    done = Workflow(repository, "", snapshots="missing.json").step("Plan")
    assert done.returncode == 2
    assert "NotReadable: missing.json" in done.stderr


def gitlab(repository: Path, address: str, **variables: str) -> subprocess.CompletedProcess[str]:
    job: dict[str, Any] = TEMPLATE["kpolicy-plan"]
    (script,) = job["script"]
    return shell(
        script,
        repository,
        "sh",
        **{
            **job["variables"],
            "KPOLICY_POLICY": "policies/shop.yaml",
            "KPOLICY_SNAPSHOTS": "cluster one.json",
            "CI_MERGE_REQUEST_DIFF_BASE_SHA": git(repository, "rev-parse", "HEAD"),
            "CI_API_V4_URL": address,
            "CI_PROJECT_ID": "12",
            "CI_MERGE_REQUEST_IID": "7",
            **variables,
        },
    )


def test_a_merge_request_gets_one_note_that_is_replaced(repository: Path) -> None:
    comments = Comments(["another"])
    with api(comments) as address:
        fail_on = "parked > 0\nplaced > 5"
        first = gitlab(repository, address, KPOLICY_TOKEN="secret", KPOLICY_FAIL_ON=fail_on)
        assert first.returncode == 1, first.stderr
        assert "failed: parked > 0\nholds: placed > 5" in first.stdout
        second = gitlab(repository, address, KPOLICY_TOKEN="secret", KPOLICY_ARGUMENTS="--seed 3")
        assert second.returncode == 0, second.stderr
    assert len(comments.bodies) == 2
    assert comments.bodies[1].startswith(f"{MARKER}\n")
    assert [method for method, _ in comments.calls if method != "GET"] == ["POST", "PUT"]
    assert comments.calls[0][1] == "/projects/12/merge_requests/7/notes"
    assert comments.tokens == {"secret"}


def test_without_a_token_the_plan_is_an_artifact(repository: Path) -> None:
    done = gitlab(repository, "http://127.0.0.1:9")
    assert done.returncode == 0, done.stderr
    for name in TEMPLATE["kpolicy-plan"]["artifacts"]["paths"]:
        assert (repository / name).is_file()


def test_both_install_this_version() -> None:
    assert ACTION["inputs"]["version"]["default"] == VERSION
    assert TEMPLATE["kpolicy-plan"]["variables"]["KPOLICY_VERSION"] == VERSION
