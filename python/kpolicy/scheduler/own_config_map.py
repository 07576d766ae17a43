"""A ConfigMap that is ours to write, made when it is not there.

Owns the one kind of write: server-side apply of some of its keys, for which `create` and `patch`
can be granted by name. Must not know what is written.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from kpolicy.cluster.api import ApiClient, Response
from kpolicy.cluster.request_failure import Failure
from kpolicy.scheduler.config_map_name import ConfigMapName

_APPLY: Final = "application/apply-patch+yaml"
_LABELS: Final = {"app.kubernetes.io/managed-by": "kpolicy"}


class OwnConfigMap:
    """`manager` owns the keys that it applies, and none that it does not."""

    def __init__(self, name: ConfigMapName, client: ApiClient, *, manager: str) -> None:
        self.name = name
        self._client = client
        self._query = {"fieldManager": manager, "force": "true"}

    async def apply(self, keys: Mapping[str, Any]) -> Failure | None:
        body = {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": self.name.name, "labels": _LABELS},
            **keys,
        }
        answer = await self._client.request(
            "PATCH", self.name.path, self._query, json.dumps(body).encode(), content_type=_APPLY
        )
        return None if isinstance(answer, Response) else answer
