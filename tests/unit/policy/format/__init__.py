"""Tests of `kpolicy.policy.format`."""
