"""Sends manifests to a real API server as a dry run, with strict validation, and collects every
warning.
"""

from __future__ import annotations

import copy
from typing import Final

from tests.cluster.connection import ApiError, Connections
from tests.cluster.control_plane import ControlPlane
from tests.e2e.rendered import Manifest

_STRICT: Final = {"dryRun": "All", "fieldValidation": "Strict"}
_CREATED: Final = 201


def dry_run(cluster: ControlPlane, manifest: Manifest) -> list[str]:
    """The warnings; an error if the manifest is refused. The object gets another name, because some
    exist already."""
    connections = Connections(cluster.server, cluster.ca_file, cluster.token())
    document = copy.deepcopy(manifest.document)
    document["metadata"]["name"] += "-again"
    response = connections.request("POST", manifest.collection, document, query=_STRICT)
    connections.close()
    if response.status != _CREATED:
        raise ApiError("POST", manifest.collection, response)
    return [value for key, value in response.headers.items() if key.lower() == "warning"]
