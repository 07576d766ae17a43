"""Takes the figures of simulated days: what happened to pods, and a sample now and then."""

from __future__ import annotations

from kpolicy.offline.days.cluster_book import ClusterBook
from kpolicy.offline.days.figures import Counts, Sample, percentiles
from kpolicy.offline.days.pods_there import PodsThere


class FiguresOverTime:
    def __init__(self, book: ClusterBook, pods: PodsThere) -> None:
        self._book = book
        self._pods = pods
        self.samples: list[Sample] = []
        self.counts = Counts()
        self._counts_sampled = Counts()
        # Of each pod that got a node, how long it waited for it.
        self.waits_ns: list[int] = []
        self._waits_sampled = 0

    def sample(self, at_ns: int) -> None:
        counts, before = self.counts.line(), self._counts_sampled.line()
        self.samples.append(
            Sample(
                at_ns,
                self._book.nodes,
                self._pods.running,
                self._pods.pending,
                {name: count - before[name] for name, count in counts.items()},
                percentiles(self.waits_ns[self._waits_sampled :]),
                self._book.fullness(),
            )
        )
        self._counts_sampled = Counts(**counts)
        self._waits_sampled = len(self.waits_ns)
