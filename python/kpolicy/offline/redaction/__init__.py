"""Redaction: a cluster's objects with their names replaced, deciding as they did.

Owns what is kept, replaced and dropped of each kind. Pure: the key is an argument. Must not know
files, the engine or a cluster.
"""
