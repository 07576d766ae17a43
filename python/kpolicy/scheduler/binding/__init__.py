"""Binds of placed pods: what comes before the bind, the bind itself, and the end of its reservation."""
