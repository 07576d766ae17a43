"""Tests of `kpolicy.policy.models`."""
