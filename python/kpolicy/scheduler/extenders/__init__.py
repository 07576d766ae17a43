"""Extenders: others who are asked, over HTTP, about a pod's nodes (kube-scheduler's extender/v1).

Owns the wire, the clients, the asking and the binding by an extender. Must not know rules: the
engine judges before and after them.
"""
