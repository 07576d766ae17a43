"""Schedulers as processes, side by side on a real API server."""
