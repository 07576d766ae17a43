"""The embedded control plane answers as the real one does: code, reason and message."""

from __future__ import annotations

from typing import Any

from tests.unit.testing.exchanges import Step, expected, play, refusal
from tests.unit.testing.other_steps import OTHER_STEPS
from tests.unit.testing.pod_steps import POD_STEPS
from tests.unit.testing.servers import Server


def differences(server: Server, steps: tuple[Step, ...]) -> list[str]:
    seen: dict[str, Any] = {}
    found: list[str] = []
    for step in steps:
        answered = refusal(play(server.client, server.namespace, step, seen), server.namespace)
        wanted = expected(step, answered, server.minor)
        if answered != wanted:
            found.append(f"{step.what}: {answered}, not {wanted}")
    return found


def test_pods(server: Server) -> None:
    assert len(POD_STEPS) > 50
    assert differences(server, POD_STEPS) == []


def test_leases_events_config_maps_and_parameters(server: Server) -> None:
    assert len(OTHER_STEPS) > 30
    assert differences(server, OTHER_STEPS) == []
