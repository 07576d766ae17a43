"""Tests of plugins in the running scheduler."""
