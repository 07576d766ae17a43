"""The files with which work on a policy begins: a policy, its test, settings, CI and a hook.

The text of each file is made from a few answers; nothing is written here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from kpolicy.policy.models.scheduling_policy import API_VERSION, BASE_DEFAULT
from kpolicy.version import VERSION

CiSystem: TypeAlias = Literal["github", "gitlab", "none"]
CI_SYSTEMS: Final[tuple[CiSystem, ...]] = ("github", "gitlab", "none")
FOLDER: Final = "policies"


@dataclass(frozen=True, slots=True)
class StarterAnswers:
    name: str = "first-policy"
    scheduler_name: str = "kpolicy"
    base: str = BASE_DEFAULT
    ci: CiSystem = "github"
    has_hook: bool = True


def starter_files(answers: StarterAnswers) -> dict[str, str]:
    """Texts by path."""
    files = {
        f"{FOLDER}/{answers.name}.yaml": _policy(answers),
        f"{FOLDER}/{answers.name}.test.yaml": _test(answers),
        "kpolicy.toml": _settings(answers),
    }
    if answers.ci == "github":
        files[".github/workflows/kpolicy.yaml"] = _GITHUB
    elif answers.ci == "gitlab":
        files[".gitlab-ci.yml"] = _GITLAB
    if answers.has_hook:
        files[".pre-commit-config.yaml"] = _HOOK
    return files


def _policy(answers: StarterAnswers) -> str:
    return f"""\
# yaml-language-server: $schema=https://kpolicy.dev/schema/v1alpha1/schedulingpolicy.json
# Nodes that are reserved for a team take only its pods. Nodes with an SSD are better.
apiVersion: {API_VERSION}
kind: SchedulingPolicy
metadata:
  name: {answers.name}
spec:
  profiles:
    - schedulerName: {answers.scheduler_name}
  base: {answers.base}
  predicates:
    - name: reserved-for-team
      expression: label(node, 'reserved-for') in ['', label(pod, 'team')]
      message: node(s) reserved for another team
      reason: ReservedForTeam
  priorities:
    - name: prefer-ssd
      weight: 2
      expression: "label(node, 'disk') == 'ssd' ? 100 : 0"
"""


def _test(answers: StarterAnswers) -> str:
    return f"""\
# yaml-language-server: $schema=https://kpolicy.dev/schema/v1alpha1/policytest.json
apiVersion: {API_VERSION}
kind: PolicyTest
metadata:
  name: {answers.name}
policies: [{answers.name}.yaml]
nodes:
  - {{name: plain}}
  - {{name: fast, labels: {{disk: ssd}}}}
  - {{name: reserved, labels: {{reserved-for: research}}}}
tests:
  - name: pods of other teams stay off a reserved node
    pod: {{labels: {{team: web}}}}
    expect:
      filters:
        reserved: {{rejectedBy: [reserved-for-team], message: node(s) reserved for another team}}
      scores:
        fast: {{prefer-ssd: 100}}
        plain: {{prefer-ssd: 0}}
  - name: pods of the team may use the node
    pod: {{labels: {{team: research}}}}
    expect:
      filters:
        reserved: pass
coverage: {{minimum: 90%}}
"""


def _settings(answers: StarterAnswers) -> str:
    return f"""\
# Settings of `kpolicy lint` in this folder and below.
[lint]
deny = ["warnings"]
scheduler-names = ["{answers.scheduler_name}"]
"""


_CHECKS: Final = (
    f"kpolicy fmt --check {FOLDER}",
    f"kpolicy lint {FOLDER}",
    f"kpolicy test {FOLDER}",
)
_INSTALL: Final = f"pip install kpolicy=={VERSION}"
_GITHUB: Final = f"""\
name: policies
on:
  pull_request:
  push:
    branches: [main]
permissions:
  contents: read
jobs:
  policies:
    runs-on: ubuntu-latest
    steps:
      - uses: actions/checkout@v4
      - uses: actions/setup-python@v5
        with:
          python-version: "3.12"
      - run: {_INSTALL}
      - run: {_CHECKS[0]}
      - run: {_CHECKS[1]} --output github
      - run: {_CHECKS[2]} --output github
      # With a recorded cluster: say in the pull request what the policy changes (`kpolicy plan`).
      # This needs `pull-requests: write` among the permissions.
      # - uses: kpolicy/kpolicy/deploy/ci/github@v{VERSION}
      #   if: github.event_name == 'pull_request'
      #   with: {{policy: {FOLDER}, snapshots: cluster.kpsnap, fail-on: parked > 0}}
"""
_GITLAB: Final = f"""\
# With a recorded cluster: say in the merge request what the policy changes (`kpolicy plan`).
# include:
#   - remote: https://raw.githubusercontent.com/kpolicy/kpolicy/v{VERSION}/deploy/ci/gitlab/plan.gitlab-ci.yml
policies:
  image: python:3.12-slim
  script:
    - {_INSTALL}
    - {_CHECKS[0]}
    - {_CHECKS[1]} --output junit=lint.xml --output concise
    - {_CHECKS[2]} --output junit=tests.xml --output text
  artifacts:
    when: always
    reports:
      junit: [lint.xml, tests.xml]
"""
_HOOK: Final = "repos:\n  - repo: local\n    hooks:\n" + "".join(
    f"""\
      - id: kpolicy-{check.split()[1]}
        name: {check}
        entry: {check}
        language: system
        files: ^{FOLDER}/
        pass_filenames: false
"""
    for check in _CHECKS
)
