"""Tests of `kpolicy.policy.legacy`."""
