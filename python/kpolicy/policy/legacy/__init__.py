"""Older kinds of document, read as SchedulingPolicy documents."""
