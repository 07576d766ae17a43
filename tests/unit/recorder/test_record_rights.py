"""The rights that we ask an administrator for are those that recording uses."""

from __future__ import annotations

from typing import Final

import yaml

from kpolicy.recorder.record import RECORDED
from tests.tree.sources import ROOT

MANIFEST: Final = ROOT / "deploy" / "rbac" / "snapshot-recorder.yaml"


def test_the_role_lists_what_is_recorded_and_nothing_else() -> None:
    role, account, binding = yaml.safe_load_all(MANIFEST.read_text())
    granted = {
        (group, resource)
        for rule in role["rules"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
    }
    assert {verb for rule in role["rules"] for verb in rule["verbs"]} == {"list"}
    wanted = set()
    for resource in RECORDED:
        parts = resource.path.strip("/").split("/")
        wanted.add((parts[1] if parts[0] == "apis" else "", resource.name))
    assert granted == wanted
    assert len(granted) == 20
    assert binding["roleRef"]["name"] == role["metadata"]["name"]
    [subject] = binding["subjects"]
    assert (subject["kind"], subject["name"], subject["namespace"]) == (
        account["kind"],
        account["metadata"]["name"],
        account["metadata"]["namespace"],
    )
