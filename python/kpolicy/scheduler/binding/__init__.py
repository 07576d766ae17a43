"""Binds of placed pods: what comes before a bind, the bind, and the end of its reservation."""
