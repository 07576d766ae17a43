"""For each file of nemeses a control plane that it may break, and a stage for each test."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cluster.control_plane import ControlPlane
from tests.cluster.users import NORMAL
from tests.e2e.nemeses.proxy import Proxy
from tests.e2e.rights import SCENARIO_RULES

_numbers = itertools.count(1)
POLICY = Path(__file__).parents[1] / "policies" / "scenarios.yaml"
# Of kpolicy's defaults: after a renewal nobody else may lead for so long; the next one is due then.
LEASE_S, RENEWALS_APART_S_MAX = 15.0, 2.4


@pytest.fixture(scope="module")
def plane(control_plane_binary: object) -> Iterator[ControlPlane]:
    with ControlPlane() as running:
        running.grant(NORMAL, SCENARIO_RULES)
        yield running


@pytest.fixture
def lease(plane: ControlPlane) -> str:
    """The flag for a lease of the test's own, because a scheduler waits for an unreleased lease."""
    namespace = f"lease-{next(_numbers)}"
    plane.admin.create_namespace(namespace)
    return f"--lease-namespace={namespace}"


@pytest.fixture
def proxy(plane: ControlPlane, tmp_path: Path) -> Iterator[Proxy]:
    with Proxy(plane, tmp_path) as running:
        yield running
