"""Plugins in the running scheduler: before the queue, after decisions, and what wakes their pods."""
