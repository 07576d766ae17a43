"""Writes the parts of pyproject.toml that building the engine reads to the file that is named.

The file is left alone where they have not changed, so that make rebuilds nothing for a setting of
ruff or pytest.
"""

from __future__ import annotations

import json
import sys
import tomllib
from pathlib import Path


def main() -> None:
    project = tomllib.loads(Path("pyproject.toml").read_text())
    parts = {
        "build-system": project["build-system"],
        "project": project["project"],
        "maturin": project["tool"]["maturin"],
    }
    text = json.dumps(parts, sort_keys=True, indent=1)
    stamp = Path(sys.argv[1])
    if not stamp.is_file() or stamp.read_text() != text:
        stamp.parent.mkdir(parents=True, exist_ok=True)
        stamp.write_text(text)


if __name__ == "__main__":
    main()
