"""Snapshots: the objects of a cluster, read from files, and what is counted of them."""
