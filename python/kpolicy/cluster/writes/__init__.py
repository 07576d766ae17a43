"""Writes to the API server: binds, evictions, volumes, pod status and events."""
