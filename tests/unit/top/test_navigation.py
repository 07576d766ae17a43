"""Keys lead into a pod, its node and a rule, and back to where one was."""

from __future__ import annotations

from kpolicy.top.navigation import KEYS, Key, Place


def after(place: Place, *keys: Key, choices: tuple[str, ...] = ("a", "b", "c")) -> Place:
    for key in keys:
        place = place.after(key, choices)
    return place


def test_up_and_down_stay_within_the_choices() -> None:
    assert after(Place(), Key.UP).chosen == 0
    assert after(Place(), *[Key.DOWN] * 9).chosen == 2
    assert after(Place(chosen=7), Key.UP).chosen == 1
    assert after(Place(), Key.DOWN, choices=()).chosen == 0


def test_into_takes_the_chosen_and_back_returns_to_it() -> None:
    inside = after(Place(), Key.DOWN, Key.INTO)
    assert (inside.path, inside.chosen) == (("b",), 0)
    assert after(inside, Key.DOWN, Key.BACK) == Place(chosen=1)
    deepest = after(Place(), *[Key.INTO] * 9)
    assert len(deepest.path) == 3
    assert after(deepest, *[Key.BACK] * 9) == Place()
    assert after(Place(), Key.INTO, choices=()) == Place()


def test_every_key_is_bound() -> None:
    assert set(KEYS.values()) == set(Key)
