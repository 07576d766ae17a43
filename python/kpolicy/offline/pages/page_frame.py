"""The frame of every page: a title, figures, sections with charts, tables and paragraphs, and the
button for light and dark colours.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from kpolicy.offline.pages.chart import Chart
from kpolicy.offline.pages.data_table import DataTable
from kpolicy.offline.pages.page_data import (
    content_security_policy,
    library,
    script,
    script_json,
    style,
    text,
)
from kpolicy.version import VERSION

_BUILT: Final = Path(__file__).parent / "vendor" / "built.json"
_FRAME: Final = """\
<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<link rel="icon" href="data:,">
<title>{title}</title>
<style>{style}</style>
</head>
<body>
<a class="skip" href="#main">To the content</a>
<header><div><h1>{title}</h1>{about}</div>
<button id="theme" type="button">Dark colours</button></header>
<main id="main" tabindex="-1">
<noscript><p>Charts and tables need JavaScript here; it asks no other host.</p></noscript>
{body}
</main>
<footer><p>kpolicy {version}. This file needs no network.
Charts: Apache ECharts {echarts}, Apache License 2.0.
In a chart, the arrow keys go from one item to the next.</p></footer>
<span id="color" class="unseen" aria-hidden="true"></span>
<script type="application/json" id="data">{data}</script>
<script>{library}</script>
<script>{script}</script>
</body>
</html>
"""

# A paragraph, or one of the others.
Part = str | Chart | DataTable


@dataclass(frozen=True, slots=True)
class Figure:
    """A number that matters, with its name."""

    name: str
    value: str


@dataclass(frozen=True, slots=True)
class Section:
    """`is_folded`: its content shows when somebody opens it."""

    title: str
    parts: Sequence[Part]
    is_folded: bool = False


@dataclass(slots=True)
class _Data:
    """What scripts read: charts and tables, by their names in the page."""

    charts: dict[str, dict[str, Any]] = field(default_factory=dict)
    tables: dict[str, dict[str, Any]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Page:
    title: str
    sections: Sequence[Section]
    figures: Sequence[Figure] = ()
    about: str = ""

    def html(self) -> str:
        data = _Data()
        body = "\n".join(self._body(data))
        return _FRAME.format(
            policy=text(content_security_policy()),
            title=text(self.title),
            style=style(),
            about=f'<p class="about">{text(self.about)}</p>' if self.about else "",
            body=body,
            version=text(VERSION),
            echarts=text(echarts_version()),
            data=script_json({"charts": data.charts, "tables": data.tables}),
            library=library(),
            script=script(),
        )

    def _body(self, data: _Data) -> Iterator[str]:
        if self.figures:
            pairs = (
                f"<div><dt>{text(each.name)}</dt><dd>{text(each.value)}</dd></div>"
                for each in self.figures
            )
            yield f'<dl class="figures">{"".join(pairs)}</dl>'
        if len(self.sections) > 1:
            links = (
                f'<li><a href="#section-{at}">{text(section.title)}</a></li>'
                for at, section in enumerate(self.sections)
            )
            yield f'<nav aria-label="Sections"><ul>{"".join(links)}</ul></nav>'
        for at, section in enumerate(self.sections):
            content = "\n".join(_part(part, data) for part in section.parts)
            title = f"<h2>{text(section.title)}</h2>"
            if section.is_folded:
                yield (
                    f'<details id="section-{at}"><summary>{title}</summary>\n{content}\n</details>'
                )
            else:
                yield f'<section id="section-{at}">{title}\n{content}\n</section>'


def _part(part: Part, data: _Data) -> str:
    if isinstance(part, str):
        return f"<p>{text(part)}</p>"
    about = f'<p class="quiet">{text(part.about)}</p>' if part.about else ""
    if isinstance(part, DataTable):
        key = f"table-{len(data.tables)}"
        data.tables[key] = part.document()
        left_out = f'<p class="quiet">{text(part.left_out)}</p>' if part.left_out else ""
        head = f"<figcaption><h3>{text(part.title)}</h3>{about}{left_out}</figcaption>"
        return f'<figure>{head}<div data-table="{key}"></div></figure>'
    key = f"chart-{len(data.charts)}"
    drawing = part.drawing()
    data.charts[key] = {
        "title": part.title,
        "option": drawing.option,
        "summary": drawing.summary,
        "height": drawing.height,
        "widthMin": drawing.width_min,
        "views": list(drawing.views),
        **(drawing.extra or {}),
    }
    return (
        f'<figure class="chart"><figcaption class="head"><div><h3>{text(part.title)}</h3>{about}'
        f'</div><div class="tools">{_views(drawing.views)}{_savers(part.title)}</div></figcaption>'
        f'<div class="scroll"><div class="box" data-chart="{key}" tabindex="0"></div></div>'
        '<p class="unseen" aria-live="polite"></p></figure>'
    )


def _views(names: Sequence[str]) -> str:
    if len(names) < 2:
        return ""
    options = (f'<option value="{at}">{text(name)}</option>' for at, name in enumerate(names))
    return f'<select aria-label="What the map shows">{"".join(options)}</select>'


def _savers(title: str) -> str:
    return "".join(
        f'<button type="button" data-save="{kind}" aria-label="Save as {kind.upper()}: '
        f'{text(title)}">{kind.upper()}</button>'
        for kind in ("png", "svg")
    )


def echarts_version() -> str:
    return str(json.loads(_BUILT.read_text("utf-8"))["versions"]["echarts"])
