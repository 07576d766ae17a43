"""Tests of `kpolicy.policy.assembly`."""
