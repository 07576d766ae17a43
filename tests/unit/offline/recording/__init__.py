"""Tests of recorded snapshots."""
