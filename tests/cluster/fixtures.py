"""pytest plugin: the binaries of the control plane, of Helm and of Karpenter's filter, one running
control plane, and a namespace for each test.

Binaries are built before the clock of any test runs. tests/conftest.py names this module in
`pytest_plugins`, so that all folders share the one control plane of the session (of the worker,
under xdist).

A test that kills or reconfigures a component starts its own `ControlPlane(control_plane_binary)`.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import nullcontext
from functools import cache
from pathlib import Path

import pytest

from tests.cluster import build
from tests.cluster.build import ControlPlaneBinary
from tests.cluster.control_plane import ControlPlane
from tests.cluster.helm_build import helm_binary
from tests.cluster.karpenter_build import karpenter_binary

MARK = "cluster"
NAME_LENGTH_MAX = 40
_numbers = itertools.count(1)
_built = cache(build.control_plane_binary)
_built_helm = cache(helm_binary)
_built_karpenter = cache(karpenter_binary)
_BUILT_BY_FIXTURE: Mapping[str, Callable[[], object]] = {
    "helm": _built_helm,
    "karpenter_filter": _built_karpenter,
}


@pytest.hookimpl(trylast=True)
def pytest_collection_finish(session: pytest.Session) -> None:
    """Builds before the first test. The first build takes minutes, which must not count for a
    test's timeout."""
    if session.config.option.collectonly:
        return
    wanted: list[Callable[[], object]] = []
    if any(item.get_closest_marker(MARK) for item in session.items):
        wanted.append(_built)
    for fixture, build_for_it in _BUILT_BY_FIXTURE.items():
        if any(fixture in getattr(item, "fixturenames", ()) for item in session.items):
            wanted.append(build_for_it)
    capture = session.config.pluginmanager.getplugin("capturemanager")
    for build_it in wanted:
        with capture.global_and_fixture_disabled() if capture is not None else nullcontext():
            build_it()


@pytest.fixture(scope="session")
def control_plane_binary() -> ControlPlaneBinary:
    return _built()


@pytest.fixture(scope="session")
def helm() -> Path:
    return _built_helm()


@pytest.fixture(scope="session")
def karpenter_filter() -> Path:
    return _built_karpenter()


@pytest.fixture(scope="session")
def control_plane(control_plane_binary: ControlPlaneBinary) -> Iterator[ControlPlane]:
    """etcd and kube-apiserver, shared by the session: leave no nodes behind, kill nothing."""
    with ControlPlane(control_plane_binary) as plane:
        yield plane


@pytest.fixture
def namespace(control_plane: ControlPlane, request: pytest.FixtureRequest) -> Iterator[str]:
    """A namespace for the test; its pods are deleted afterwards."""
    words = re.sub(r"[^a-z0-9]+", "-", request.node.name.lower()).strip("-")[:NAME_LENGTH_MAX]
    name = f"{words.strip('-')}-{next(_numbers)}"
    control_plane.admin.create_namespace(name)
    yield name
    control_plane.admin.delete(f"/api/v1/namespaces/{name}/pods")
    control_plane.admin.delete(f"/api/v1/namespaces/{name}", missing_ok=True)
