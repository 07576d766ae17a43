"""A policy's hash is equal for policies that decide the same, and different for all others."""

from __future__ import annotations

import pytest

from kpolicy.policy.compile import compile_policy
from kpolicy.policy.yaml.source import Source

POLICY = """\
apiVersion: kpolicy.dev/v1alpha1
kind: SchedulingPolicy
metadata: {name: hashed}
spec:
  profiles: [{schedulerName: kpolicy}]
  base: kube-scheduler-default
  predicates:
    - name: zone
      expression: "label(node, 'zone') == 'a' || pod.priority > 3"
      message: not in our zone
    - name: labelled
      expression: "node.pods.count(selector({'place': 'x', 'spans': 'x'})) < 9"
  priorities:
    - {name: flat, weight: 2, expression: "1"}
  extenders:
    - {urlPrefix: "http://ours:80", filterVerb: filter, httpTimeout: 5s}
"""


def hash_of(text: str, name: str = "policy.yaml") -> str:
    program = compile_policy([Source(name, text)]).program
    assert program is not None
    return program.hash


@pytest.mark.parametrize(
    "changed",
    [
        "\n\n# moved down\n" + POLICY,
        POLICY.replace("{name: flat, weight: 2,", "{weight: 2,     name: flat,"),
        POLICY.replace(
            "label(node, 'zone') == 'a' || pod", "label(node, 'zone')  ==  'a'  ||  pod"
        ),
        POLICY.replace("httpTimeout: 5s", "httpTimeout: 5000000000ns"),
    ],
    ids=["moved", "laid out", "spaces in an expression", "another unit"],
)
def test_where_and_how_it_is_written_does_not_count(changed: str) -> None:
    assert changed != POLICY
    assert hash_of(changed) == hash_of(POLICY)


def test_the_file_it_is_read_from_does_not_count() -> None:
    assert hash_of(POLICY, "configmap/ours/policy/policy.yaml") == hash_of(POLICY)


CHANGES = [
    ("name: hashed", "name: other"),
    ("schedulerName: kpolicy", "schedulerName: other"),
    ("weight: 2", "weight: 3"),
    ('expression: "1"', 'expression: "2"'),
    ("== 'a'", "== 'b'"),
    ("not in our zone", "not in my zone"),
    ("name: zone", "name: zones"),
    ("'place': 'x'", "'place': 'y'"),
    ("'spans': 'x'", "'spans': 'y'"),
    ("ours:80", "ours:81"),
    ("5s", "6s"),
    ("kube-scheduler-default\n", "kube-scheduler-default\n  tieBreak: name\n"),
]


def test_every_change_of_what_decides_counts() -> None:
    texts = [POLICY, *(POLICY.replace(old, new) for old, new in CHANGES)]
    assert len(set(texts)) == len(CHANGES) + 1
    assert len({hash_of(text) for text in texts}) == len(texts)
