"""The release of kpolicy. Owns the number, which the tests compare with the engine's."""

from __future__ import annotations

from typing import Final

VERSION: Final = "0.1.0"
