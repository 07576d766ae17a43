"""A strict reader of Prometheus' text format 0.0.4, for tests.

It checks the grammar and the rules that a scraper relies on: HELP and TYPE once and first, samples
of a family together, no series twice, buckets cumulative and complete. Anything else is an error.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

_NAME = r"[a-zA-Z_:][a-zA-Z0-9_:]*"
_LABEL = r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\\\|\\"|\\n)*)"'
_SAMPLE = re.compile(rf"({_NAME})(?:\{{({_LABEL}(?:,{_LABEL})*)\}})? (\S+)\Z")
_TYPES = {"counter", "gauge", "histogram"}

Labels = frozenset[tuple[str, str]]


@dataclass
class Family:
    name: str
    kind: str = ""
    help: str = ""
    samples: dict[Labels, float] = field(default_factory=dict)
    # Of histograms: per labels without `le`.
    buckets: dict[Labels, list[tuple[float, float]]] = field(default_factory=dict)
    sums: dict[Labels, float] = field(default_factory=dict)
    counts: dict[Labels, float] = field(default_factory=dict)

    def count(self, **labels: str) -> float:
        return self.counts.get(frozenset(labels.items()), 0)


def parsed(text: str) -> dict[str, Family]:
    assert text.endswith("\n"), "the last line must end"
    assert "\r" not in text
    families: dict[str, Family] = {}
    current = Family("")
    for line in text[:-1].split("\n"):
        if line.startswith("# HELP "):
            name, _, words = line[7:].partition(" ")
            assert re.fullmatch(_NAME, name), line
            assert name not in families, f"{name} comes twice"
            assert words, f"{name} says nothing of itself"
            current = families[name] = Family(name, help=words)
        elif line.startswith("# TYPE "):
            name, _, kind = line[7:].partition(" ")
            assert name == current.name, "TYPE follows its HELP"
            assert not current.kind
            assert kind in _TYPES, line
            current.kind = kind
        else:
            _take(current, line)
    for family in families.values():
        _check(family)
    return families


def _take(family: Family, line: str) -> None:
    match = _SAMPLE.match(line)
    assert match, f"not a sample: {line!r}"
    name, labels_text, value = match[1], match[2] or "", float(match[match.lastindex or 0])
    labels = dict(re.findall(_LABEL, labels_text))
    assert len(labels) == len(re.findall(_LABEL, labels_text)), line
    if family.kind != "histogram":
        assert name == family.name, f"{name} inside {family.name}"
        _put(family.samples, frozenset(labels.items()), value, line)
        return
    suffix = name.removeprefix(family.name)
    if suffix == "_bucket":
        bound = labels.pop("le")
        family.buckets.setdefault(frozenset(labels.items()), []).append((float(bound), value))
    else:
        target = {"_sum": family.sums, "_count": family.counts}[suffix]
        _put(target, frozenset(labels.items()), value, line)


def _put(samples: dict[Labels, float], labels: Labels, value: float, line: str) -> None:
    assert labels not in samples, f"twice: {line}"
    samples[labels] = value


def _check(family: Family) -> None:
    assert family.kind, f"{family.name} has no TYPE"
    if family.kind == "counter":
        assert all(value >= 0 for value in family.samples.values()), family.name
    assert family.buckets.keys() == family.sums.keys() == family.counts.keys()
    for labels, buckets in family.buckets.items():
        bounds = [bound for bound, _ in buckets]
        values = [value for _, value in buckets]
        assert bounds == sorted(set(bounds)), family.name
        assert bounds[-1] == float("inf"), family.name
        assert values == sorted(values), f"{family.name} is not cumulative"
        assert values[-1] == family.counts[labels], family.name
