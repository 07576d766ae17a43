"""Tests of the journal's records, segments and thread."""
