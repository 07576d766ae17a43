"""The demo: the real scheduler on an embedded control plane, watched from outside."""
