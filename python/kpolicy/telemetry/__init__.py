"""What is seen from outside: traces, metrics, logs, and the HTTP endpoints that show them.

Owns formats and exporters. Assumes that callers hand over numbers and words they have anyway. Must
not know policies, the queue or the API server: nothing here decides anything.
"""
