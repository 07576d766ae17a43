"""Finds free ports, and waits until a component answers, within a limit."""

from __future__ import annotations

import random
import socket
import ssl
import time
import urllib.error
import urllib.request
from collections.abc import Callable

from tests.cluster.errors import ControlPlaneError
from tests.cluster.process import Process

READY_WITHIN_S = 60.0
LOOK_EVERY_S = 0.05
ANSWER_WITHIN_S = 5.0
# Below the range from which the kernel picks ports for outgoing connections.
PORTS = range(20_000, 32_000)
# Ports that this process has found before: who was to listen there may not have begun yet.
_found_before: set[int] = set()


def free_ports(count: int) -> tuple[int, ...]:
    """Ports on which nobody listens now, each found once. Another process may take one before it
    is used."""
    found: list[int] = []
    for port in random.sample(PORTS, len(PORTS)):
        if len(found) == count:
            _found_before.update(found)
            return tuple(found)
        if port in _found_before:
            continue
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
        found.append(port)
    raise ControlPlaneError(f"no {count} free loopback ports from {PORTS.start} to {PORTS.stop}")


def answers_ok(url: str) -> bool:
    """Whether a GET gives 200. Certificates are not checked, because components make their own."""
    unchecked = ssl.create_default_context()
    unchecked.check_hostname = False
    unchecked.verify_mode = ssl.CERT_NONE
    # No proxy from the environment: everything here is on loopback.
    opener = urllib.request.build_opener(
        urllib.request.ProxyHandler({}), urllib.request.HTTPSHandler(context=unchecked)
    )
    try:
        with opener.open(url, timeout=ANSWER_WITHIN_S) as answer:
            return bool(answer.status == 200)
    except urllib.error.HTTPError as refused:
        refused.close()
        return False


def wait_ready(process: Process, ready: Callable[[], bool], within_s: float) -> None:
    """Waits until it is ready. If it ends, or takes too long, raises an error with its log."""
    began = time.monotonic()
    last = "it answered, but not with 200"
    while time.monotonic() - began < within_s:
        try:
            if ready():
                return
        except (OSError, ControlPlaneError, ValueError) as not_yet:
            last = str(not_yet)
        process.raise_if_ended()
        time.sleep(LOOK_EVERY_S)
    raise ControlPlaneError(
        f"{process.name} was not ready after {within_s:.0f} s ({last}); on a loaded machine give "
        f"ready_within_s, else see {process.described_log()}"
    )
