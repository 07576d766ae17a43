"""How many threads an engine may have; the engine itself has the same bound."""

from __future__ import annotations

from typing import Final

ENGINE_THREADS_MAX: Final = 256
