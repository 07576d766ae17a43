"""Tests of the file format of recorded snapshots."""
