"""Tests of lint against a recorded cluster."""
