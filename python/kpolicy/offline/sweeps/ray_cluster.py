"""Works on cells on a Ray cluster. Ray begins a cell again whose worker or node is gone.

Ray is an extra of its own (`kpolicy[ray]`): nothing else of kpolicy knows it.
"""

from __future__ import annotations

import socket
from collections.abc import Callable, Sequence
from typing import Any

from kpolicy.offline.limits import CELL_TRIES_MAX, RAY_CELLS_AHEAD_MAX, RAY_CONNECT_S
from kpolicy.offline.sweeps.outcomes import NO_CLUSTER, NO_RAY, Outcome, SweepError, gone, worked
from kpolicy.version import VERSION


def on_ray(
    work: Callable[[Any], Any],
    cells: Sequence[Any],
    take: Callable[[int, Outcome], None],
    *,
    jobs: int | None,
    address: str,
) -> None:
    """`jobs`: how many cells the cluster is given at once."""
    ray = _ray()
    _check_reachable(address)
    try:
        # Without an address: the one of RAY_ADDRESS, or a cluster of this machine alone.
        ray.init(
            address=address or None,
            include_dashboard=False if not address else None,
            log_to_driver=False,
            logging_level="error",
        )
    except (ConnectionError, RuntimeError, ValueError, TimeoutError) as error:
        raise _no_cluster(address, error) from error
    try:
        _work(ray, work, cells, take, min(jobs or RAY_CELLS_AHEAD_MAX, RAY_CELLS_AHEAD_MAX))
    finally:  # cells that still run end with this process's job
        ray.shutdown()


def _check_reachable(address: str) -> None:
    """Ray itself would try for many minutes."""
    host, colon, port = address.removeprefix("ray://").rpartition(":")
    if not colon or not port.isdecimal():
        return  # Ray's own names, such as `auto`
    try:
        with socket.create_connection((host.strip("[]"), int(port)), timeout=RAY_CONNECT_S):
            return
    except (OSError, OverflowError) as error:
        raise _no_cluster(address, error) from error


def _no_cluster(address: str, error: Exception) -> SweepError:
    first = next(iter(str(error).splitlines()), type(error).__name__)
    where = address or "this machine"
    hint = "see `ray status`; the address is as `ray start --head` prints it"
    return SweepError(NO_CLUSTER, f"no Ray cluster at {where}: {first}", hint)


def _ray() -> Any:
    try:
        import ray  # noqa: PLC0415
    except ImportError as error:
        hint = "install it with `pip install 'kpolicy[ray]'`"
        raise SweepError(NO_RAY, "--engine ray needs Ray, which is not installed", hint) from error
    return ray


def _work(
    ray: Any,
    work: Callable[[Any], Any],
    cells: Sequence[Any],
    take: Callable[[int, Outcome], None],
    ahead: int,
) -> None:
    # Not of a cell's own errors, which would only come again.
    task = ray.remote(worked).options(
        num_cpus=1, max_retries=CELL_TRIES_MAX, retry_exceptions=False
    )
    shared = ray.put(work)
    following = iter(enumerate(cells))
    under_way: dict[Any, int] = {}
    while True:
        while len(under_way) < ahead and (upcoming := next(following, None)) is not None:
            place, cell = upcoming
            under_way[task.remote(shared, cell, VERSION)] = place
        if not under_way:
            return
        ready, _ = ray.wait(list(under_way), num_returns=1)
        for reference in ready:
            place = under_way.pop(reference)
            take(place, _outcome(ray, reference, cells[place]))


def _outcome(ray: Any, reference: Any, cell: Any) -> Outcome:
    errors = ray.exceptions
    try:
        outcome: Outcome = ray.get(reference)
    except (errors.WorkerCrashedError, errors.NodeDiedError, errors.OutOfMemoryError) as error:
        raise gone(cell, CELL_TRIES_MAX + 1) from error
    except errors.RayError as error:
        first = next((line for line in reversed(str(error).splitlines()) if line.strip()), "")
        hint = f"kpolicy {VERSION} must be installed on each node"
        raise SweepError(NO_CLUSTER, f"a node cannot work on {cell}: {first}", hint) from error
    return outcome
