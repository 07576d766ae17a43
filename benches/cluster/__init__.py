"""Compares schedulers as processes on a real API server."""
