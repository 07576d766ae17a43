"""The API server's side of the shell: connection, list and watch, bind, events, conditions, lease.

Owns every request to the API server. Assumes asyncio and aiohttp. Must not know policy, scoring or
the engine: bytes that were watched go to a `sink.Sink`, what to write comes in as plain values.
Nothing is imported here, so that a verb that needs the lease alone pays for the lease alone.
"""
