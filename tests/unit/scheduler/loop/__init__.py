"""Tests of the scheduling loop."""
