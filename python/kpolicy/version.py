"""The release of kpolicy, and the release of Kubernetes whose decisions it makes."""

from __future__ import annotations

from typing import Final

VERSION: Final = "0.1.0"
KUBERNETES_RELEASE: Final = "1.36"
