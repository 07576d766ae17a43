"""Traces, metrics, logs and health, and the HTTP endpoints that show them.

Nothing here decides anything.
"""
