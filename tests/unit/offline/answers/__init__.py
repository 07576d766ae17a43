"""Tests of explain, simulate, diff and evaluate."""
