"""A small trace made from a seed, in the files of openb: for tests, and for a run in seconds.

The mix resembles that of openb: shares, single GPUs, a few pods with several, and pods without.
"""

from __future__ import annotations

import csv
import random
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from kpolicy.offline.fill.openb import DEFAULT_PODS, NODES_FILE, pods_file

# cpu in milli, memory in MiB, GPUs, model.
_NODES: Final = (
    (64_000, 262_144, 2, "S"),
    (96_000, 393_216, 8, "M"),
    (96_000, 786_432, 8, "L"),
    (128_000, 786_432, 8, "L"),
)
# cpu in milli, memory in MiB, GPUs, thousandths of each; how often among a hundred.
_PODS: Final = (
    ((8_000, 30_720, 0, 0), 13),
    ((4_000, 16_384, 1, 250), 8),
    ((6_000, 12_288, 1, 460), 12),
    ((8_000, 30_517, 1, 500), 9),
    ((12_000, 24_576, 1, 810), 8),
    ((8_000, 30_720, 1, 1000), 30),
    ((12_000, 16_384, 1, 1000), 18),
    ((16_000, 65_536, 2, 1000), 1),
    ((88_000, 327_680, 8, 1000), 1),
)


def write_synthetic(folder: Path, nodes: int = 24, pods: int = 200, seed: int = 0) -> None:
    draws = random.Random(seed)
    folder.mkdir(parents=True, exist_ok=True)
    drawn = [draws.choice(_NODES) for _ in range(nodes)]
    _write(
        folder / NODES_FILE,
        ("sn", "cpu_milli", "memory_mib", "gpu", "model"),
        ((f"node-{index:04d}", *node) for index, node in enumerate(drawn)),
    )
    kinds, weights = zip(*_PODS, strict=True)
    _write(
        folder / pods_file(DEFAULT_PODS),
        ("name", "cpu_milli", "memory_mib", "num_gpu", "gpu_milli"),
        (
            (f"pod-{index:04d}", *pod)
            for index, pod in enumerate(draws.choices(kinds, weights, k=pods))
        ),
    )


def _write(path: Path, header: tuple[str, ...], rows: Iterable[tuple[object, ...]]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(header)
        writer.writerows(rows)
