"""Fixtures: `server` is embedded and, where the cluster tests run, real; `plane` is embedded."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from kpolicy.testing import ControlPlane
from kpolicy.testing.apiserver.discovery import MINOR
from tests.cluster.control_plane import ControlPlane as RealControlPlane
from tests.unit.testing.client import Client
from tests.unit.testing.servers import Embedded, Server, embedded

NAMESPACE = "tests"
EMBEDDED_MINOR = int(MINOR)


@pytest.fixture
def plane() -> Iterator[Embedded]:
    with embedded(ControlPlane) as running:
        yield running


@pytest.fixture(params=["embedded", pytest.param("real", marks=pytest.mark.cluster)])
def server(request: pytest.FixtureRequest) -> Iterator[Server]:
    if request.param == "real":
        real: RealControlPlane = request.getfixturevalue("control_plane")
        namespace: str = request.getfixturevalue("namespace")
        yield Server(
            Client(real.server, real.token(), str(real.ca_file)), namespace, real.harness.minor
        )
        return
    with embedded(ControlPlane) as running:
        client = running.client
        assert client.post("/api/v1/namespaces", {"metadata": {"name": NAMESPACE}}).code == 201
        yield Server(client, NAMESPACE, EMBEDDED_MINOR)
