"""Fragmentation and imbalance of a cluster that is small enough to count."""

from __future__ import annotations

import pytest

from kpolicy.offline.days.cluster_book import ClusterBook
from kpolicy.offline.days.pod_texts import PodTexts, pod_texts
from kpolicy.testing import node, pod


def texts(cpu: str) -> PodTexts:
    return pod_texts(pod("p", cpu=cpu))


def test_fragmentation_is_what_is_free_where_usual_pods_do_not_fit() -> None:
    book = ClusterBook(["cpu"])
    book.node_is(node("a", cpu="4"))
    book.node_is(node("b", cpu="4"))
    small, large = book.came(texts("1")), book.came(texts("3"))
    book.placed("a", large)
    book.placed("b", small)
    full = book.fullness()["cpu"]
    assert (full.allocatable, full.requested) == (8_000, 4_000)
    # Of 4 free cpus, the one on `a` is of no use to half of the pods.
    assert full.fragmentation == pytest.approx(0.5 * 1 / 4)
    assert full.imbalance == pytest.approx(0.25)
    book.left("a", large)
    assert book.fullness()["cpu"].fragmentation == 0.0


def test_a_node_without_places_for_pods_is_of_no_use() -> None:
    book = ClusterBook(["cpu"])
    book.node_is(node("a", cpu="4", pods=1))
    book.placed("a", book.came(texts("1")))
    assert book.fullness()["cpu"].fragmentation == 1.0


def test_a_node_that_is_gone_counts_no_more() -> None:
    book = ClusterBook(["cpu"])
    book.node_is(node("a", cpu="4"))
    book.node_gone("a")
    assert (book.nodes, book.fullness()["cpu"].allocatable) == (0, 0)
