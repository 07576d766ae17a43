"""Extenders: HTTP services that are asked about a pod's nodes (kube-scheduler's extender/v1)."""
