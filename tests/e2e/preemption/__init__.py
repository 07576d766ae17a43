"""Rows P of the catalogue on a real API server, and claims to nodes."""
