"""Guides that need a cluster say what their commands print on a real API server."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cluster.build import ControlPlaneBinary
from tests.cluster.control_plane import ControlPlane
from tests.e2e.guide_on_cluster import comparable, replayed_on, said_by
from tests.spec.guides.console import GUIDES, ON_A_CLUSTER

pytestmark = pytest.mark.cluster

HERE = [guide for guide in GUIDES if guide.stem in ON_A_CLUSTER]
COMMANDS_MIN = 20


@pytest.mark.timeout(300)
@pytest.mark.parametrize("guide", HERE, ids=lambda guide: guide.stem)
def test_a_guide_says_what_its_commands_print(
    guide: Path, control_plane_binary: ControlPlaneBinary, tmp_path: Path
) -> None:
    with ControlPlane(control_plane_binary) as plane:
        text, commands = replayed_on(plane, guide, tmp_path)
        page = said_by(plane.harness.minor, guide.read_text("utf-8"))
    assert commands >= COMMANDS_MIN
    assert comparable(text) == comparable(page)
