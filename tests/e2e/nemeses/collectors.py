"""OTLP collectors that do not work: one refuses connections, one never answers."""

from __future__ import annotations

import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from tests.cluster.readiness import free_ports


@contextmanager
def dead() -> Iterator[int]:
    """A port on which nobody listens."""
    (port,) = free_ports(1)
    yield port


@contextmanager
def black_hole() -> Iterator[int]:
    """A port that accepts connections and never answers."""
    with socket.create_server(("127.0.0.1", 0), backlog=64) as listener:
        yield listener.getsockname()[1]


def traced_to(port: int) -> Mapping[str, str]:
    """The environment of a scheduler that sends every trace there."""
    return {
        "OTEL_EXPORTER_OTLP_ENDPOINT": f"http://127.0.0.1:{port}",
        "OTEL_TRACES_SAMPLER": "always_on",
    }
