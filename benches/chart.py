"""Draws lines on two logarithmic axes as SVG. The same lines give the same text.

Decades are the grid. Each line has a colour, a dash, a marker, and its name at its right end; names
that would overlap are moved apart. Colours follow the reader's light or dark scheme.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from typing import Final

_WIDTH: Final = 880
_HEIGHT: Final = 560
_LEFT: Final = 84
_RIGHT: Final = 150
_TOP: Final = 64
_BOTTOM: Final = 64
_LABEL_STEP: Final = 17.0
_MINOR: Final = (2, 5)
# Visible on light and dark backgrounds; with the dashes also for people who see fewer colours.
COLOURS: Final = (
    ("#0067b0", "#5fb8ff"),
    ("#c44e00", "#ff9a52"),
    ("#00795a", "#3fd6a6"),
    ("#a83279", "#f294cf"),
    ("#6b5900", "#e3ca4d"),
)
_DASHES: Final = ("none", "7 4")
_STYLE: Final = """
text { font: 13px system-ui, sans-serif; fill: #24292f; }
.title { font-size: 17px; font-weight: 600; }
.about { font-size: 11px; fill: #57606a; }
.back { fill: #ffffff; }
.grid { stroke: #d0d7de; stroke-width: 1; }
.minor { stroke: #eaeef2; stroke-width: 1; }
.line { fill: none; stroke-width: 2; }
.leader { stroke-width: 1; opacity: .6; }
@media (prefers-color-scheme: dark) {
text { fill: #e6edf3; }
.about { fill: #9198a1; }
.back { fill: #0d1117; }
.grid { stroke: #3d444d; }
.minor { stroke: #21262d; }
}
"""


@dataclass(frozen=True, slots=True)
class Line:
    """`points` from left to right, both numbers above 0."""

    name: str
    points: tuple[tuple[float, float], ...]


@dataclass(frozen=True, slots=True)
class Axis:
    """Maps a value to a position; whole decades from `low` to `high`, as powers of ten."""

    low: int
    high: int
    start: float
    end: float

    def at(self, value: float) -> float:
        share = (math.log10(value) - self.low) / (self.high - self.low)
        return self.start + share * (self.end - self.start)

    def ticks(self) -> Iterator[tuple[float, bool]]:
        """The ticks, each with a flag whether it is a decade."""
        for power in range(self.low, self.high + 1):
            yield 10.0**power, True
            if power < self.high:
                yield from ((step * 10.0**power, False) for step in _MINOR)


@dataclass(frozen=True, slots=True)
class Chart:
    title: str
    about: str
    x_label: str
    y_label: str
    lines: tuple[Line, ...]

    def svg(self) -> str:
        x, y = self._axes()
        size = f'viewBox="0 0 {_WIDTH} {_HEIGHT}" width="{_WIDTH}" height="{_HEIGHT}"'
        parts = [
            f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" aria-labelledby="title">',
            f'<title id="title">{escape(self.title)}</title>',
            f"<style>{_STYLE}{''.join(_colours(len(self.lines)))}</style>",
            f'<rect class="back" width="{_WIDTH}" height="{_HEIGHT}" rx="8"/>',
            f'<text class="title" x="{_LEFT}" y="28">{escape(self.title)}</text>',
            f'<text class="about" x="{_LEFT}" y="46">{escape(self.about)}</text>',
            *_grid(x, y),
            *self._words(x, y),
        ]
        places = spread([y.at(line.points[-1][1]) for line in self.lines], _LABEL_STEP)
        for number, (line, place) in enumerate(zip(self.lines, places, strict=True)):
            parts += _drawn(number, line, x, y, place)
        return "\n".join([*parts, "</svg>", ""])

    def _axes(self) -> tuple[Axis, Axis]:
        across = [point[0] for line in self.lines for point in line.points]
        up = [point[1] for line in self.lines for point in line.points]
        return (
            Axis(*_decades(across), _LEFT, _WIDTH - _RIGHT),
            Axis(*_decades(up), _HEIGHT - _BOTTOM, _TOP),
        )

    def _words(self, x: Axis, y: Axis) -> Iterator[str]:
        for value, is_decade in x.ticks():
            if is_decade or x.high - x.low <= 2:
                yield (
                    f'<text x="{x.at(value):.1f}" y="{y.start + 20:.1f}" '
                    f'text-anchor="middle">{_number(value)}</text>'
                )
        for value, is_decade in y.ticks():
            if is_decade:
                yield (
                    f'<text x="{x.start - 9:.1f}" y="{y.at(value) + 4:.1f}" '
                    f'text-anchor="end">{_number(value)}</text>'
                )
        middle_x, middle_y = (x.start + x.end) / 2, (y.start + y.end) / 2
        yield (
            f'<text x="{middle_x:.1f}" y="{y.start + 44:.1f}" '
            f'text-anchor="middle">{escape(self.x_label)}</text>'
        )
        yield (
            f'<text transform="translate(22 {middle_y:.1f}) rotate(-90)" '
            f'text-anchor="middle">{escape(self.y_label)}</text>'
        )


def spread(places: Sequence[float], step: float) -> list[float]:
    """Moves places apart until neighbours are a step from each other, in the same order."""
    order = sorted(range(len(places)), key=lambda index: (places[index], index))
    groups: list[tuple[float, list[int]]] = []  # each with its middle
    for index in order:
        groups.append((places[index], [index]))
        while len(groups) > 1:
            (above, first), (below, second) = groups[-2:]
            if below - above >= step * (len(first) + len(second)) / 2:
                break
            members = first + second
            middle = sum(places[member] for member in members) / len(members)
            groups[-2:] = [(middle, members)]
    moved = [0.0] * len(places)
    for middle, members in groups:
        for position, member in enumerate(members):
            moved[member] = middle + (position - (len(members) - 1) / 2) * step
    return moved


def _decades(values: Sequence[float]) -> tuple[int, int]:
    low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
    return low, max(high, low + 1)


def _grid(x: Axis, y: Axis) -> Iterator[str]:
    for value, is_decade in x.ticks():
        yield (
            f'<line class="{"grid" if is_decade else "minor"}" x1="{x.at(value):.1f}" '
            f'x2="{x.at(value):.1f}" y1="{y.start:.1f}" y2="{y.end:.1f}"/>'
        )
    for value, is_decade in y.ticks():
        yield (
            f'<line class="{"grid" if is_decade else "minor"}" x1="{x.start:.1f}" '
            f'x2="{x.end:.1f}" y1="{y.at(value):.1f}" y2="{y.at(value):.1f}"/>'
        )


def _drawn(number: int, line: Line, x: Axis, y: Axis, label_y: float) -> Iterator[str]:
    at = [(x.at(across), y.at(up)) for across, up in line.points]
    path = " ".join(f"{across:.1f},{up:.1f}" for across, up in at)
    dash = _DASHES[number // len(COLOURS) % len(_DASHES)]
    yield f'<polyline class="line c{number}" stroke-dasharray="{dash}" points="{path}"/>'
    for (across, up), (nodes, cost) in zip(at, line.points, strict=True):
        yield (
            f'<circle class="f{number}" cx="{across:.1f}" cy="{up:.1f}" r="3.5">'
            f"<title>{escape(line.name)}, {_number(nodes)}: {cost:g}</title></circle>"
        )
    end_x, end_y = at[-1]
    yield (
        f'<line class="leader c{number}" x1="{end_x + 5:.1f}" y1="{end_y:.1f}" '
        f'x2="{end_x + 18:.1f}" y2="{label_y:.1f}"/>'
    )
    yield (
        f'<text class="f{number}" x="{end_x + 22:.1f}" y="{label_y + 4:.1f}">'
        f"{escape(line.name)}</text>"
    )


def _colours(count: int) -> Iterator[str]:
    for number in range(count):
        light = COLOURS[number % len(COLOURS)][0]
        yield f".c{number} {{ stroke: {light}; }} .f{number} {{ fill: {light}; }}\n"
    yield "@media (prefers-color-scheme: dark) {\n"
    for number in range(count):
        dark = COLOURS[number % len(COLOURS)][1]
        yield f".c{number} {{ stroke: {dark}; }} .f{number} {{ fill: {dark}; }}\n"
    yield "}\n"


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 1 else f"{value:g}"
