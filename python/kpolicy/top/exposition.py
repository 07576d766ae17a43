"""Reads metrics in Prometheus' text format, as kpolicy serves them."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping
from typing import Final

_LINE: Final = re.compile(r"([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)$")
_LABEL: Final = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')
_ESCAPED: Final = re.compile(r"\\(.)")

Labels = Mapping[str, str]


class Metrics:
    """The values of one scrape."""

    def __init__(self, text: str) -> None:
        self._values: defaultdict[str, list[tuple[Labels, float]]] = defaultdict(list)
        for line in text.splitlines():
            match = None if line.startswith("#") else _LINE.match(line)
            if match is not None:
                name, labels, value = match.groups()
                self._values[name].append((_labels(labels or ""), float(value)))

    def labels(self, name: str) -> list[Labels]:
        return [labels for labels, _ in self._values.get(name, ())]

    def by(self, name: str, label: str) -> dict[str, float]:
        """Sums by the value of one label."""
        sums: defaultdict[str, float] = defaultdict(float)
        for labels, value in self._values.get(name, ()):
            sums[labels.get(label, "")] += value
        return dict(sums)


def _labels(text: str) -> Labels:
    return {name: _ESCAPED.sub(_unescaped, value) for name, value in _LABEL.findall(text)}


def _unescaped(match: re.Match[str]) -> str:
    return "\n" if match.group(1) == "n" else match.group(1)
