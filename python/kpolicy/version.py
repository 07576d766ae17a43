"""The release of kpolicy, and that of Kubernetes which it decides like.

Owns the numbers; the tests compare kpolicy's with the engine's.
"""

from __future__ import annotations

from typing import Final

VERSION: Final = "0.1.0"
KUBERNETES_RELEASE: Final = "1.36"
