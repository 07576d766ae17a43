"""What is written into a page: text, JSON and scripts. Names and messages of a cluster may hold
anything, and no page runs any of it.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
from functools import cache
from pathlib import Path
from typing import Any, Final

_FOLDER: Final = Path(__file__).parent
_SCRIPTS: Final = ("values.js", "charts.js", "downloads.js", "tables.js", "start.js")
# Within an element `script`, a browser looks for `</script` and `<!--`, and for nothing else.
_IN_SCRIPT: Final = str.maketrans({"<": "\\u003c", ">": "\\u003e", "&": "\\u0026"})


def text(written: object) -> str:
    """For the content of an element, and for an attribute in double quotes."""
    return html.escape(_valid(str(written)))


def script_json(document: Any) -> str:
    """For an element `script` with a type that browsers do not run. Only ASCII: a page has the same
    data in any encoding, and half a surrogate pair stays readable."""
    written = json.dumps(document, separators=(",", ":"), allow_nan=False)
    return written.translate(_IN_SCRIPT)


def _valid(written: str) -> str:
    """Without halves of surrogate pairs, which UTF-8 cannot hold."""
    return written.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


@cache
def library() -> str:
    """The charting library."""
    return (_FOLDER / "vendor" / "echarts.js").read_text("utf-8")


@cache
def script() -> str:
    """What a page does; its parts share their names, and nothing else sees them."""
    parts = [(_FOLDER / "browser" / name).read_text("utf-8") for name in _SCRIPTS]
    return "\n".join(['"use strict";', "{", *parts, "}"])


@cache
def style() -> str:
    return (_FOLDER / "browser" / "page.css").read_text("utf-8")


def digest(content: str) -> str:
    """As a Content-Security-Policy names a script or a style."""
    return f"sha256-{base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()}"


@cache
def content_security_policy() -> str:
    """Runs the two scripts of the page and nothing else, and asks no other host for anything."""
    scripts = " ".join(f"'{digest(each)}'" for each in (library(), script()))
    rules = (
        "default-src 'none'",
        f"script-src {scripts}",
        f"style-src '{digest(style())}'",
        "img-src data:",
        "base-uri 'none'",
        "form-action 'none'",
    )
    return "; ".join(rules)
