"""The last good policy: kept, damaged, too large, and put in force at the start."""

from __future__ import annotations

import random
from pathlib import Path
from unittest.mock import AsyncMock, Mock, call

import pytest

from kpolicy.clock import SystemClock
from kpolicy.cluster.api import ApiClient
from kpolicy.policy.assembly.assemble import Program
from kpolicy.policy.yaml.source import Source
from kpolicy.scheduler import limits
from kpolicy.scheduler.delivery.last_good import (
    ConfigMapStore,
    FolderStore,
    LastGood,
    decoded,
    encoded,
    restore_newer,
)
from kpolicy.scheduler.loop.reload import InForce, Reloaded, Reloader
from kpolicy.scheduler.options import ConfigMapName
from kpolicy.scheduler.problem_codes import Problem
from kpolicy.testing.apiserver.api_calls import FaultRule, RequestFault, ScriptedFaults
from kpolicy.testing.control_plane import ControlPlane
from tests.unit.scheduler.world import connection

KEPT = LastGood(
    "sha256:1",
    (
        Source("policy.yaml", b"kind: x\n"),
        Source("folder/b.yaml", b"", is_named=False),
        Source("ConfigMap a/b", "\u00e9\n\n".encode(), is_for_params=True),
    ),
    1_700_000_000_123_456_789,
)
PLACE = ConfigMapName("kube-system", "policy-status")


def packed(kept: LastGood = KEPT) -> bytes:
    done = encoded(kept)
    assert isinstance(done, bytes)
    return done


def test_it_comes_back_as_it_was() -> None:
    assert decoded(packed(), "here") == KEPT


def test_texts_come_back_as_bytes() -> None:
    kept = decoded(packed(LastGood("h", (Source("a", "\u00e9"),), 1)), "here")
    assert isinstance(kept, LastGood)
    assert kept.sources[0].text == "\u00e9".encode()


def test_a_damaged_copy_is_never_taken_for_a_whole_one() -> None:
    whole = packed()
    rng = random.Random(7)
    damaged = [whole[:cut] for cut in range(len(whole))]
    for _ in range(200):
        at = rng.randrange(len(whole))
        damaged.append(whole[:at] + bytes([whole[at] ^ (1 << rng.randrange(8))]) + whole[at + 1 :])
    assert len(damaged) > 300
    for path in damaged:
        problem = decoded(path, "the folder")
        assert isinstance(problem, Problem), path
        assert problem.code == "KPS105"
        assert "the folder" in problem.message


def test_one_that_is_too_large_says_so() -> None:
    noise = random.Random(1).randbytes(limits.LAST_GOOD_BYTES_MAX + 1)
    problem = encoded(LastGood("h", (Source("a", noise),), 1))
    assert isinstance(problem, Problem)
    assert "too large" in problem.message


async def test_a_folder_keeps_it(tmp_path: Path) -> None:
    store = FolderStore(tmp_path / "cache")
    assert await store.load() is None
    assert await store.save(KEPT) is None
    assert await FolderStore(tmp_path / "cache").load() == KEPT
    assert [file.name for file in (tmp_path / "cache").iterdir()] == ["last-good.policy"]


async def test_a_folder_that_cannot_be_written_is_a_problem(tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("a file is in the way")
    problem = await FolderStore(tmp_path / "cache").save(KEPT)
    assert isinstance(problem, Problem)
    assert problem.code == "KPS105"


async def test_a_config_map_keeps_it_beside_what_others_write() -> None:
    async with (
        ControlPlane() as control_plane,
        ApiClient(connection(control_plane.url), SystemClock()) as client,
    ):
        store = ConfigMapStore(PLACE, client)
        assert await store.load() is None
        assert await store.save(KEPT) is None
        assert await ConfigMapStore(PLACE, client).load() == KEPT
        (held,) = (
            m for m in control_plane.objects("ConfigMap") if m["metadata"]["name"] == PLACE.name
        )
        assert held["metadata"]["labels"] == {"app.kubernetes.io/managed-by": "kpolicy"}


@pytest.mark.parametrize("verb", ["get", "patch"])
async def test_a_config_map_that_may_not_be_used_is_a_problem(verb: str) -> None:
    rule = FaultRule(RequestFault(status=403), resource="configmaps", verb=verb, times=None)
    async with (
        ControlPlane(faults=ScriptedFaults([rule])) as control_plane,
        ApiClient(connection(control_plane.url), SystemClock()) as client,
    ):
        store = ConfigMapStore(PLACE, client)
        problem = await (store.load() if verb == "get" else store.save(KEPT))
    assert isinstance(problem, Problem)
    assert problem.code == "KPS105"
    assert "kube-system/policy-status" in problem.message


@pytest.mark.parametrize(
    ("since_ns", "own_hash", "last", "restored"),
    [
        (KEPT.since_ns - 1, "sha256:0", "invalid", True),
        (KEPT.since_ns, "sha256:0", "invalid", False),  # ours is as new
        (KEPT.since_ns - 1, KEPT.hash, "invalid", False),
        (KEPT.since_ns - 1, "sha256:0", "loaded", False),  # the present one is good
    ],
)
async def test_a_replica_that_missed_the_newest_good_policy_takes_the_kept_one(
    tmp_path: Path, since_ns: int, own_hash: str, last: str, restored: bool
) -> None:
    store = FolderStore(tmp_path)
    assert await store.save(KEPT) is None
    program = Program(own_hash, b"{}", (), ())
    problem = Problem("KPS102", "the policy has 1 error") if last == "invalid" else None
    reloader = Mock(spec=Reloader)
    reloader.in_force = InForce(program, 1, since_ns)
    reloader.last = Reloaded(last, problem=problem)
    reloader.restore = AsyncMock(return_value=None)
    assert await restore_newer(reloader, (store,))
    assert reloader.restore.await_args_list == ([call(KEPT.sources)] if restored else [])


async def test_a_kept_policy_that_cannot_be_read_is_asked_for_again(tmp_path: Path) -> None:
    (tmp_path / "last-good.policy").write_bytes(b"damaged")
    reloader = Mock(spec=Reloader)
    reloader.in_force = InForce(Program("sha256:0", b"{}", (), ()), 1, 0)
    reloader.last = Reloaded("invalid", problem=Problem("KPS102", "the policy has 1 error"))
    assert not await restore_newer(reloader, (FolderStore(tmp_path),))
