"""What is free where usual pods do not fit, by resource."""

from __future__ import annotations

from collections import Counter

from kpolicy.offline.fragmentation import UsualPods


def test_only_pods_that_ask_for_a_resource_count_for_it() -> None:
    """Three small pods, and one that wants a GPU and much cpu."""
    usual = UsualPods.of(Counter({(1, 0): 3, (8, 2): 1}), 2)
    free = [((4, 2), True), ((8, 2), True)]
    # The first node has too little cpu for who wants its GPUs; a quarter of all want its cpu.
    assert usual.stranded(free) == [4 / 4, 2]
    assert usual.stranded([((4, 2), False)]) == [4, 2], "a node without a place takes nobody"


def test_where_nobody_asks_nothing_is_stranded() -> None:
    assert UsualPods.of(Counter({(1, 0): 3}), 2).stranded([((0, 7), True)]) == [0, 0]
    assert UsualPods.of({}, 1).stranded([((5,), True)]) == [0]
