"""A workload's world as the JSON that the engine reads, in pieces, or as a Kubernetes List.

Owns how many there are of what, and where: ten zones, two disks and four instance types in turn,
existing pods on the nodes in turn, 50 apps. Made from text templates: 100,000 nodes take about a
second. Pure: the same numbers give the same bytes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Final

from kpolicy.offline.bench import templates
from kpolicy.offline.bench.workloads import APPS, NODE_CPU_MILLI, WORKLOADS
from kpolicy.offline.limits import BENCH_OBJECTS_AT_ONCE

ZONES: Final = 10
DISKS: Final = ("ssd", "hdd")
INSTANCE_TYPES: Final = 4


@dataclass(frozen=True, slots=True)
class Size:
    nodes: int
    existing: int
    pods: int


def bodies(workload: str, size: Size) -> Iterator[bytes]:
    """All of it, the pods to place last, a few thousand objects in each text."""
    before = chain(templates.fixed_objects(), nodes(size), existing(workload, size))
    yield from packed(chain(before, volumes(workload, size)))
    yield from packed(waiting(workload, size))


def as_list(workload: str, size: Size) -> Iterator[bytes]:
    """All of it as one Kubernetes List, an object a line, for whoever reads such a file."""
    before: bytes = b'{"apiVersion":"v1","kind":"List","items":[\n'
    for body in bodies(workload, size):
        yield before + body.replace(b"\n", b",\n")
        before = b",\n"
    yield b"\n]}\n"


def nodes(size: Size) -> Iterator[str]:
    template = templates.node()
    for index in range(size.nodes):
        yield template % node_words(index)


def node_words(index: int) -> dict[str, object]:
    """What fills the gaps of the n-th node."""
    return {
        "index": index,
        "zone": index % ZONES,
        "disk": DISKS[index // ZONES % len(DISKS)],
        "type": index // (ZONES * len(DISKS)) % INSTANCE_TYPES,
    }


def existing(workload: str, size: Size) -> Iterator[str]:
    """Without the workload's own demands: they are there to be met, or in the way."""
    kind = WORKLOADS[workload]
    a_node = -(-size.existing // size.nodes)
    for index in range(size.existing):
        milli, mebi = kind.existing_requests(index)
        if kind.are_nodes_full:
            milli = NODE_CPU_MILLI // a_node
        words = {"index": index, "milli": milli, "mebi": mebi, "node": index % size.nodes}
        yield templates.existing_pod(app_of(index)) % words


def waiting(workload: str, size: Size) -> Iterator[str]:
    """In queue order: of one priority and age, and their names sort."""
    kind = WORKLOADS[workload]
    for index in range(size.pods):
        milli, mebi = kind.requests(index)
        template = templates.waiting_pod(workload, app_of(index))
        yield template % {"index": index, "milli": milli, "mebi": mebi}


def on_node(workload: str, index: int, node: int) -> str:
    """One of `waiting`, as the API server shows it once it is bound."""
    milli, mebi = WORKLOADS[workload].requests(index)
    words = {"index": index, "milli": milli, "mebi": mebi, "node": node}
    return templates.waiting_pod(workload, app_of(index), on_node=True) % words


def volumes(workload: str, size: Size) -> Iterator[str]:
    template = templates.bound_volume()
    for index in range(size.pods if WORKLOADS[workload].has_volumes else 0):
        yield template % {"index": index, "zone": index % ZONES}


def app_of(index: int) -> str:
    return f"app-{index % APPS}"


def packed(items: Iterable[str]) -> Iterator[bytes]:
    held: list[str] = []
    for item in items:
        held.append(item)
        if len(held) == BENCH_OBJECTS_AT_ONCE:
            yield "\n".join(held).encode()
            held.clear()
    if held:
        yield "\n".join(held).encode()
