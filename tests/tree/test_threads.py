"""Threads that a test leaves running are found; threads that end in time are not."""

from __future__ import annotations

import threading

from tests import threads


def test_a_thread_that_stays_is_named_and_an_ended_one_is_not() -> None:
    before, over = threads.alive(), threading.Event()
    stays = threading.Thread(target=over.wait, name="stays")
    ends = threading.Thread(target=lambda: None, name="ends")
    stays.start()
    ends.start()
    try:
        assert threads.left_since(before, 0.1) == ["stays"]
        assert threads.left_since(threads.alive(), 0.1) == [], "the thread was there before"
    finally:
        over.set()
    assert threads.left_since(before, 10.0) == []
