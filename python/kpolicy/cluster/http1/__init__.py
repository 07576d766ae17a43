"""HTTP/1.1 for writes: pooled connections that cost less processor time than aiohttp's."""
