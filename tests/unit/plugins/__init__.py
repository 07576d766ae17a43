"""Tests of plugins in Python, without a scheduler."""
