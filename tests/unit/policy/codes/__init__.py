"""Tests of `kpolicy.policy.codes`."""
