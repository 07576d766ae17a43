"""Draws what tenants had and what was fair over time. The same shares give the same SVG."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from typing import Final

from benches.chart import COLOURS
from benches.shares.week import Shares

_WIDTH: Final = 880
_HEIGHT: Final = 400
_LEFT: Final = 56
_RIGHT: Final = 110
_TOP: Final = 60
_BOTTOM: Final = 48
_HOURS_A_DAY: Final = 24
_STYLE: Final = """
text { font: 13px system-ui, sans-serif; fill: #24292f; }
.title { font-size: 17px; font-weight: 600; }
.about { font-size: 11px; fill: #57606a; }
.back { fill: #ffffff; }
.grid { stroke: #d0d7de; stroke-width: 1; }
.had { fill: none; stroke-width: 2; }
.fair { fill: none; stroke-width: 1.5; stroke-dasharray: 2 4; }
@media (prefers-color-scheme: dark) {
text { fill: #e6edf3; }
.about { fill: #9198a1; }
.back { fill: #0d1117; }
.grid { stroke: #3d444d; }
}
"""


def picture(shares: Shares, title: str, about: str) -> str:
    return "".join(_parts(shares, title, about))


def _parts(shares: Shares, title: str, about: str) -> Iterator[str]:
    names, hours = list(shares.had), len(shares.by_hour)
    colours = list(zip(names, COLOURS, strict=False))
    yield f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img">\n'
    yield f"<title>{escape(title)}</title>\n<style>{_STYLE}"
    for index, (light, dark) in enumerate(COLOURS[: len(names)]):
        yield f".c{index} {{ stroke: {light}; }} .t{index} {{ fill: {light}; }}\n"
        yield f"@media (prefers-color-scheme: dark) {{ .c{index} {{ stroke: {dark}; }} "
        yield f".t{index} {{ fill: {dark}; }} }}\n"
    yield f'</style>\n<rect class="back" width="{_WIDTH}" height="{_HEIGHT}"/>\n'
    yield f'<text class="title" x="{_LEFT}" y="26">{escape(title)}</text>\n'
    yield f'<text class="about" x="{_LEFT}" y="44">{escape(about)}</text>\n'
    for percent in (0, 25, 50, 75, 100):
        y = _y(percent / 100)
        yield f'<line class="grid" x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{y}" y2="{y}"/>\n'
        yield f'<text x="{_LEFT - 8}" y="{y + 4}" text-anchor="end">{percent} %</text>\n'
    for day in range(hours // _HOURS_A_DAY + 1):
        x = _x(day * _HOURS_A_DAY, hours)
        yield f'<line class="grid" x1="{x}" x2="{x}" y1="{_TOP}" y2="{_HEIGHT - _BOTTOM}"/>\n'
        yield f'<text x="{x}" y="{_HEIGHT - _BOTTOM + 18}" text-anchor="middle">day {day}</text>\n'
    for index, (name, _) in enumerate(colours):
        had = [each[name][0] for each in shares.by_hour]
        fair = [each[name][1] for each in shares.by_hour]
        yield f'<polyline class="had c{index}" points="{_points(had)}"/>\n'
        yield f'<polyline class="fair c{index}" points="{_points(fair)}"/>\n'
        y = _TOP + 16 + 18 * index
        yield f'<text class="t{index}" x="{_WIDTH - _RIGHT + 12}" y="{y}">{escape(name)}</text>\n'
    y = _TOP + 16 + 18 * len(colours)
    yield f'<text class="about" x="{_WIDTH - _RIGHT + 12}" y="{y}">dotted: fair</text>\n</svg>\n'


def _points(shares: Sequence[float]) -> str:
    return " ".join(f"{_x(at + 0.5, len(shares))},{_y(share)}" for at, share in enumerate(shares))


def _x(hour: float, hours: int) -> float:
    return round(_LEFT + hour / max(hours, 1) * (_WIDTH - _LEFT - _RIGHT), 1)


def _y(share: float) -> float:
    return round(_HEIGHT - _BOTTOM - share * (_HEIGHT - _TOP - _BOTTOM), 1)
