"""kpolicy against a real API server, from outside."""
