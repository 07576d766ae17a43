"""The kubeconfig of an embedded control plane.

Owns its content. Pure. Must not know where it is written.
"""

from __future__ import annotations

from typing import Final

import yaml

NAME: Final = "kpolicy-testing"


def kubeconfig(url: str, token: str | None) -> str:
    return yaml.safe_dump(
        {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": NAME,
            "clusters": [{"name": NAME, "cluster": {"server": url}}],
            "users": [{"name": NAME, "user": {"token": token} if token else {}}],
            "contexts": [{"name": NAME, "context": {"cluster": NAME, "user": NAME}}],
        },
        sort_keys=False,
    )
