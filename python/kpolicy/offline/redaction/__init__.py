"""Redaction: the objects of a cluster with their names replaced, so that the same is decided."""
