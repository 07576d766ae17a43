"""Traces, metrics, logs and health, and the HTTP endpoints that show them.

Nothing here decides anything. Must not know policies, the queue or the API server.
"""
