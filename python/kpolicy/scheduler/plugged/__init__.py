"""Plugins in the running scheduler: before the queue, after decisions, and their wakes."""
