"""Reads the charts and tables of a page again, by their titles."""

from __future__ import annotations

import json
import re
from typing import Any


def data_of(page: str) -> dict[str, dict[str, Any]]:
    (found,) = re.findall(r'<script type="application/json" id="data">(.*?)</script>', page)
    document: dict[str, dict[str, Any]] = json.loads(found)
    return document


def chart(page: str, title: str) -> Any:
    (found,) = (each for each in data_of(page)["charts"].values() if each["title"] == title)
    return found


def rows(page: str, title: str) -> Any:
    (found,) = (each for each in data_of(page)["tables"].values() if each["title"] == title)
    return found["rows"]
