"""Each guide that writes its own files prints what it says it prints."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.spec.guides.console import GUIDES, ON_A_CLUSTER, replayed

# Guides whose commands need more than their own files are checked by tests/docs, and those that
# need a cluster by tests/e2e/test_guides.py.
ELSEWHERE = ON_A_CLUSTER | frozenset(
    {
        "autoscalers",
        "comparing-policies",
        "metrics",
        "observability",
        "runbook",
        "siblings",
        "snapshots",
        "tenants",
        "time-windows",
    }
)
# What they describe takes a cluster: test_policy_source.py, test_why.py, test_devices.py,
# test_plugins.py and nemeses/test_upgrade.py of tests/e2e do it, and no output is shown. Pages are
# opened by tests/browser; the trace of shared-gpus is filled by tests/unit/benches/fill.
NOTHING_SHOWN = frozenset(
    {
        "devices",
        "pages",
        "plugins",
        "policy-delivery",
        "shared-gpus",
        "upgrading",
        "why-is-a-pod-pending",
    }
)
# How many commands each guide has at least.
COMMANDS = {
    "first-policy": 15,
    "gpu-pools": 12,
    "journal": 3,
    "migrating": 13,
    "order-and-quotas": 5,
    "plan": 8,
    "rolling-out": 12,
    "simulate-days": 7,
    "spot-and-on-demand": 12,
    "what-would-place-a-pod": 5,
}
HERE = [guide for guide in GUIDES if guide.stem not in ELSEWHERE | NOTHING_SHOWN]


@pytest.mark.slow
@pytest.mark.parametrize("guide", HERE, ids=lambda guide: guide.stem)
def test_a_guide_says_what_its_commands_print(guide: Path, tmp_path: Path) -> None:
    text, commands = replayed(guide, tmp_path)
    assert commands >= COMMANDS[guide.stem]
    assert text == guide.read_text("utf-8")


def test_every_guide_is_checked_somewhere() -> None:
    stems = {guide.stem for guide in GUIDES}
    assert stems >= ELSEWHERE | NOTHING_SHOWN
    assert stems - ELSEWHERE - NOTHING_SHOWN == COMMANDS.keys()
    quiet = [guide.read_text("utf-8") for guide in GUIDES if guide.stem in NOTHING_SHOWN]
    assert not any("```console" in text for text in quiet)
