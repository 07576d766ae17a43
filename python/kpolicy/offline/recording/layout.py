"""Where what stands in a recorded snapshot.

Owns the numbers of the format: first bytes, version, sizes. Must not read or write.
"""

from __future__ import annotations

import struct
from typing import Final

# The first byte is in no text; the line end shows a transfer that rewrote line ends.
MAGIC: Final = b"\x89KPSNAP\n"
VERSION: Final = 1
# Format version, length of the header, and the SHA-256 of the header.
PREFIX: Final = struct.Struct(">HI32s")
HEADER_AT: Final = len(MAGIC) + PREFIX.size
HEADER_BYTES_MAX: Final = 1 << 20
