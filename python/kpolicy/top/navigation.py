"""Which screen is shown, and which of its lines is chosen: a function of the keys pressed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum


class Key(Enum):
    UP = "up"
    DOWN = "down"
    INTO = "into"
    BACK = "back"
    QUIT = "quit"


# What terminals send.
KEYS = {
    "\x1b[A": Key.UP,
    "k": Key.UP,
    "\x1b[B": Key.DOWN,
    "j": Key.DOWN,
    "\r": Key.INTO,
    "\n": Key.INTO,
    "\x1b[C": Key.INTO,
    "l": Key.INTO,
    "\x1b": Key.BACK,
    "\x1b[D": Key.BACK,
    "\x7f": Key.BACK,
    "h": Key.BACK,
    "q": Key.QUIT,
    "\x03": Key.QUIT,
}
# Pod, node, rule.
_DEPTH_MAX = 3


@dataclass(frozen=True, slots=True)
class Place:
    """`path`: the pod, its node and the rule that were gone into. `chosen` counts the lines that
    lead on."""

    path: tuple[str, ...] = ()
    chosen: int = 0
    above: tuple[int, ...] = ()

    def after(self, key: Key, choices: Sequence[str]) -> Place:
        """`choices` are what the lines of the present screen lead to."""
        chosen = min(self.chosen, max(0, len(choices) - 1))
        match key:
            case Key.UP:
                return replace(self, chosen=max(0, chosen - 1))
            case Key.DOWN:
                return replace(self, chosen=min(max(0, len(choices) - 1), chosen + 1))
            case Key.INTO if choices and len(self.path) < _DEPTH_MAX:
                return Place((*self.path, choices[chosen]), 0, (*self.above, chosen))
            case Key.BACK if self.path:
                return Place(self.path[:-1], self.above[-1], self.above[:-1])
            case _:
                return self
