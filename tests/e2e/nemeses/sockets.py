"""Closes a socket with RST instead of FIN, as a dead peer or a firewall does."""

from __future__ import annotations

import asyncio
import socket
import struct

RESET_ON_CLOSE = struct.pack("ii", 1, 0)  # linger, for no time


def reset(transport: asyncio.Transport) -> None:
    """End the connection so that the peer sees it reset."""
    if transport.is_closing():
        return
    connection = transport.get_extra_info("socket")
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET_ON_CLOSE)
    transport.abort()
