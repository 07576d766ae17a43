"""Tests of `kpolicy.policy.yaml`."""
